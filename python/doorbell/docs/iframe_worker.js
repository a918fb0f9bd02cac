// SPDX-License-Identifier: Apache-2.0
// Search runs in a Worker, and browsers start none from file://. So there a hidden frame takes its place: a window in
// which the worker's script runs, with the few functions that it expects. The theme asks for IFrameWorker by this name.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.onmessage = this.onerror = null;
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    this.frame.style.display = "none";
    document.body.appendChild(this.frame);
    const inside = this.frame.contentWindow;
    this.ready = new Promise((resolve) => { inside.workerReady = resolve; });
    inside.workerSays = (data) => {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    };
    const path = new URL(url, document.baseURI).href;
    inside.document.open();
    inside.document.write(`<html><body><script>
      const say = window.workerSays, ready = window.workerReady;
      window.postMessage = (data) => say(data);
      window.importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = url; script.onload = () => done(); script.onerror = failed;
        document.body.appendChild(script);
      })), Promise.resolve());
      </scr` + `ipt><script src="${path}" onload="ready()"></scr` + `ipt></body></html>`);
    inside.document.close();
  }

  postMessage(data) {
    this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {
    this.frame.remove();
  }
}
window.IFrameWorker = IFrameWorker;
if (location.protocol === "file:") window.Worker = IFrameWorker;
