// Counts faults of the page where a test, or a person with a problem, can read them.
(() => {
  "use strict";
  const root = document.documentElement;
  root.dataset.errors = "0";
  const fault = text => {
    root.dataset.errors = String(Number(root.dataset.errors) + 1);
    root.dataset.lastError = String(text).slice(0, 300);
  };
  addEventListener("error", event => fault(event.message));
  addEventListener("unhandledrejection", event => fault(event.reason));
  addEventListener("securitypolicyviolation", event => fault("policy: " + event.violatedDirective));
  for (const level of ["error", "warn"]) {
    const original = console[level];
    console[level] = (...words) => { fault(words.join(" ")); original.apply(console, words); };
  }
})();
