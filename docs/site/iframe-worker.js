// SPDX-License-Identifier: MIT
//
// The search runs in a Worker, which a browser refuses to a page that was opened from a disk. This is one that runs in
// a frame in place of a thread: as much of a Worker as the search needs.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.documentElement.append(this.frame)
      const inside = this.frame.contentWindow
      const load = source => new Promise((resolve, reject) => {
        const script = inside.document.createElement("script")
        Object.assign(script, { src: source, onload: resolve, onerror: reject })
        inside.document.documentElement.append(script)
      })
      inside.postMessage = data => this.answer(data)
      inside.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve())
      this.ready = load(new URL(url, document.baseURI))
    }

    answer(data) {
      const event = new MessageEvent("message", { data })
      this.dispatchEvent(event)
      if (this.onmessage)
        this.onmessage(event)
    }

    postMessage(data) {
      const inside = this.frame.contentWindow
      this.ready.then(() => inside.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
