// What the style sheet cannot repair: keyboard access to what scrolls, and dropdowns in print.
const here = document.currentScript.src;

document.addEventListener("DOMContentLoaded", () => {
  // The theme decides once, before dropdowns are open and formulas are set; decide at each change.
  const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    target.tabIndex = target.scrollWidth > target.clientWidth + 1 ? 0 : -1;
  }));
  document.querySelectorAll("article pre, article table, article div.output")
    .forEach((element) => observer.observe(element));

  // Paper has no dropdowns: open all, and close them again afterwards.
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("article details:not([open])")];
    closed.forEach((element) => { element.open = true; });
  });
  window.addEventListener("afterprint", () => closed.forEach((element) => { element.open = false; }));
});

// Sliders: the widget manager is large, so it is fetched when a slider comes near the screen.
document.addEventListener("DOMContentLoaded", () => {
  const views = [...document.querySelectorAll('script[type$="widget-view+json"]')];
  const cells = views.map((view) => view.closest(".cell_output"));
  const say = (text) => cells.forEach((cell) => {
    let note = cell.querySelector("p.slider-note");
    if (!note) {
      note = document.createElement("p");
      note.className = "slider-note";
      cell.prepend(note);
    }
    note.textContent = text;
    note.hidden = !text;
  });

  // The handle of a slider has no name of its own, and its value is a place in a list.
  const name = (cell) => cell.querySelectorAll(".widget-slider, .widget-selection-slider").forEach((slider) => {
    const handle = slider.querySelector(".noUi-handle");
    const readout = slider.querySelector(".widget-readout");
    if (!handle || !readout) return;
    handle.setAttribute("aria-label", slider.querySelector(".widget-label").textContent);
    if (handle.getAttribute("aria-valuetext") !== readout.textContent) {
      handle.setAttribute("aria-valuetext", readout.textContent);
    }
  });

  const fetchManager = () => {
    say("The slider is loading.");
    // the manager calls MathJax 2
    if (window.MathJax) MathJax.Hub ??= { Queue: ([, , element]) => MathJax.typesetPromise?.([element]) };
    const script = document.createElement("script");
    script.src = new URL("widgets/embed.js", here).href;
    // it waits for the page to load, which is over
    const listen = window.addEventListener;
    window.addEventListener = function (type, call, ...rest) {
      if (type === "load" && document.currentScript === script) queueMicrotask(call);
      else listen.call(this, type, call, ...rest);
    };
    script.onload = () => { window.addEventListener = listen; say(""); };
    script.onerror = () => {
      window.addEventListener = listen;
      say("The slider could not be loaded: this site was built without the widget manager.");
    };
    document.head.append(script);
    cells.forEach((cell) => new MutationObserver(() => name(cell)).observe(
      cell, { childList: true, subtree: true, characterData: true, attributeFilter: ["aria-valuetext"] },
    ));
  };

  const near = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    near.disconnect();
    fetchManager();
  }, { rootMargin: "600px" });
  cells.forEach((cell) => near.observe(cell));
});
