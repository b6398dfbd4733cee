"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { entries, steps, sources } = data;
  const at = (id) => document.getElementById(id);
  const boxes = [...document.querySelectorAll("#picture .entry")];
  const names = {
    leaf: "leaf", forward: "forward", changed: "changed in place", backward: "backward", arrived: "gradient",
  };
  const drawn = entries.map(() => ({}));
  let now = -1;

  const name = (entry) => (entry === null ? "a constant" : entries[entry].name);
  const isBack = (step) => step.kind === "backward" || step.kind === "arrived";

  function words(step) {
    return {
      leaf: `${name(step.entry)} is used for the first time`,
      forward: `forward: ${name(step.entry)} is computed`,
      changed: `${name(step.entry)} is written in place`,
      backward: `backward: the rule of ${name(step.entry)} is called`,
      arrived: `backward: the gradient of ${name(step.entry)} is complete`,
    }[step.kind];
  }

  function element(kind, text, parent, className) {
    const made = document.createElement(kind);
    made.textContent = text;
    if (className) made.className = className;
    parent.append(made);
    return made;
  }

  /* What is known of each entry after a step: the steps that showed its values and its gradients last. */
  function known(last) {
    const found = entries.map(() => ({ value: null, grad: null }));
    for (const step of steps.slice(0, last + 1)) found[step.entry][isBack(step) ? "grad" : "value"] = step;
    return found;
  }

  function drawBox(box, state) {
    const fill = (text, glimpse, line) => {
      text.textContent = line;
      text.classList.toggle("missing", !glimpse || Boolean(glimpse.missing));
    };
    box.classList.toggle("later", state.value === null);
    box.querySelectorAll("text.value").forEach((text, k) => {
      const glimpse = state.value && state.value.seen[k];
      fill(text, glimpse, glimpse ? glimpse.value : "");
    });
    box.querySelectorAll("text.gradient").forEach((text, k) => {
      const glimpse = state.grad && state.grad.seen[k];
      fill(text, glimpse, glimpse ? glimpse.grad : "grad: none");
      box.querySelectorAll("rect.grad")[k].classList.toggle("none", !glimpse || Boolean(glimpse.missing));
    });
  }

  function array(title, glimpse) {
    const part = element("div", "", at("arrays"), "array");
    const heading = element("h3", title, part);
    if (glimpse.missing) {
      element("p", glimpse.missing, part, "missing");
      return;
    }
    heading.id = `array${at("arrays").childElementCount}`;
    const numbers = element("pre", glimpse.numbers, part, "scroll");
    numbers.tabIndex = 0;
    numbers.setAttribute("role", "region");
    numbers.setAttribute("aria-labelledby", heading.id);
    element("p", glimpse.about, part, "about");
  }

  function fact(title, text) {
    element("dt", title, at("facts"));
    element("dd", text, at("facts"));
  }

  function describe(step, state) {
    const entry = entries[step.entry];
    const several = entry.shapes.length > 1;
    const of = (k) => (several ? `, result ${k + 1} of ${entry.shapes.length}` : "");
    at("name").textContent = `${entry.name}: ${names[step.kind]}`;
    at("facts").replaceChildren();
    at("arrays").replaceChildren();
    fact(several ? "shapes" : "shape", `${entry.shapes.join(", ")}, ${entry.dtype}`);
    if (!entry.leaf) {
      fact("reads", entry.inputs.map(name).join(", ") || "nothing");
      fact("saved", `${entry.saved} bytes for backward`);
      fact("kernels", entry.kernels.join(", ") || "none");
    }
    if (state.value) state.value.seen.forEach((glimpse, k) => array(`Value${of(k)}`, glimpse));
    if (isBack(step)) {
      const what = step.kind === "arrived" ? "is complete" : "arrives";
      step.seen.forEach((glimpse, k) => array(`Gradient that ${what}${of(k)}`, glimpse));
      step.leaving.forEach((gone, k) => {
        const result = gone.entry !== null && entries[gone.entry].shapes.length > 1 ? `, result ${gone.index + 1}` : "";
        array(`Gradient for input ${k + 1}, ${name(gone.entry)}${result}`, gone.grad);
      });
    }
    at("rule").textContent = sources[entry.source];
    const closure = !entry.leaf;
    at("ruletitle").hidden = at("rule").hidden = !closure;
    if (closure && !sources[entry.source]) at("rule").textContent = "freed by the sweep that called it";
  }

  function center(box) {
    const frame = at("picture");
    const [inner, outer] = [box.getBoundingClientRect(), frame.getBoundingClientRect()];
    frame.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
    frame.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
  }

  function go(wanted) {
    const target = Math.max(0, Math.min(steps.length - 1, wanted));
    if (target === now || !steps.length) return;
    now = target;
    const step = steps[now];
    const states = known(now);
    boxes.forEach((box, n) => {
      if (drawn[n].value !== states[n].value || drawn[n].grad !== states[n].grad) drawBox(box, states[n]);
      drawn[n] = states[n];
      box.classList.toggle("now", n === step.entry);
    });
    describe(step, states[step.entry]);
    center(boxes[step.entry]);
    at("where").textContent = `Step ${now + 1} of ${steps.length}, ${words(step)}`;
    at("slider").value = now;
    at("slider").setAttribute("aria-valuetext", at("where").textContent);
    at("first").disabled = at("back").disabled = now === 0;
    at("last").disabled = at("next").disabled = now === steps.length - 1;
    at("list").querySelector("[aria-current]")?.removeAttribute("aria-current");
    at("list").children[now].firstChild.setAttribute("aria-current", "step");
  }

  function onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("#slider, .scroll")) return;
    const wanted = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: steps.length - 1 }[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    go(wanted);
  }

  steps.forEach((step, n) => {
    const button = element("button", words(step), element("li", "", at("list")));
    button.type = "button";
    button.addEventListener("click", () => go(n));
  });
  boxes.forEach((box, n) =>
    box.addEventListener("click", () => {
      const later = steps.findIndex((step, k) => k > now && step.entry === n);
      go(later < 0 ? steps.findIndex((step) => step.entry === n) : later);
    }),
  );
  at("slider").max = Math.max(0, steps.length - 1);
  at("slider").addEventListener("input", () => go(Number(at("slider").value)));
  at("first").addEventListener("click", () => go(0));
  at("back").addEventListener("click", () => go(now - 1));
  at("next").addEventListener("click", () => go(now + 1));
  at("last").addEventListener("click", () => go(steps.length - 1));
  document.addEventListener("keydown", onKey);

  const notes = [];
  if (!steps.length) notes.push("Nothing was recorded.");
  else if (!data.kept)
    notes.push("Sweeps and freed values are not in it: fnb.Tape(keep=True) notes them as they come by.");
  else if (!steps.some(isBack)) notes.push("No sweep went through this tape yet, so there are forward steps alone.");
  if (data.left_out) notes.push(`The ${data.left_out} steps after these are left out.`);
  at("note").textContent = notes.join(" ");
  ["first", "back", "next", "last", "slider"].forEach((id) => (at(id).disabled = !steps.length));
  go(0);
})();
