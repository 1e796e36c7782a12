// What the style sheet cannot repair: keyboard access to what scrolls, and dropdowns in print.
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
