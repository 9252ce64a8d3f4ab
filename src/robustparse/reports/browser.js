"use strict";
// Lists the examples of a report, and shows the pictures of those that are opened. The address
// keeps what is asked for (#q=word&outcome=succeeded&edits=1&system=0&page=2&open=17), so that a
// link leads to it.
(() => {
  const ROWS = 50; // that a page of the list holds

  const browser = document.getElementById("browser");
  const { systems, examples, sheets, sheet } = JSON.parse(
    document.getElementById("examples").textContent,
  );
  const form = browser.querySelector("form");
  const list = browser.querySelector("ol");
  const count = browser.querySelector("output");
  const [previous, next] = browser.querySelectorAll("nav button");
  const unpacked = new Map(); // number of a sheet -> promise of its pictures
  let page = 1;
  let open = ""; // the number of the example that was opened last
  let pages = 1;

  for (const one of examples) {
    one.text = [...one.context, ...one.words, ...Object.values(one.edits)].join(" ").toLowerCase();
  }

  /** Give the pictures of a sheet: a zlib stream in base64, of a JSON list. */
  function unpack(number) {
    if (!unpacked.has(number)) {
      const bytes = Uint8Array.from(atob(sheets[number]), (letter) => letter.charCodeAt(0));
      const packed = new Blob([bytes]).stream();
      const whole = packed.pipeThrough(new DecompressionStream("deflate"));
      unpacked.set(number, new Response(whole).json());
    }
    return unpacked.get(number);
  }

  /** Make an element with a class and children, which are elements or text. */
  function make(tag, kind, ...children) {
    const element = document.createElement(tag);
    if (kind) {
      element.className = kind;
    }
    element.append(...children);
    return element;
  }

  /** Write the words of an example, each replaced one struck out before its substitute. */
  function sentence(one) {
    const line = make("span", "sentence");
    one.words.forEach((word, place) => {
      if (place > 0) {
        line.append(" ");
      }
      if (place in one.edits) {
        line.append(make("del", "", word), " ", make("mark", "", one.edits[place]));
      } else {
        line.append(word);
      }
    });
    return line;
  }

  function about(one) {
    const system = systems[one.system];
    const [before, after] = one.scores.map((score) => (score === null ? "?" : score.toFixed(1)));
    const name = systems.length > 1 ? `${system.name}, ` : "";
    return `${name}sentence ${one.id}: ${system.score} ${before} \u2192 ${after}`;
  }

  /** Make the row of an example, which draws its answers when it is opened. */
  function row(number) {
    const one = examples[number];
    const outcome = make("span", `outcome ${one.outcome}`, one.outcome);
    const summary = make("summary", "", outcome, sentence(one), make("small", "", about(one)));
    const details = make("details", "", summary);
    details.addEventListener("toggle", async () => {
      if (!details.open) {
        if (open === String(number)) {
          open = "";
          remember();
        }
        return;
      }
      if (details.children.length === 1) {
        const picture = make("div", "scroll");
        picture.tabIndex = 0;
        picture.setAttribute("role", "region");
        picture.setAttribute("aria-label", "Answers");
        details.append(picture);
        const pictures = await unpack(Math.floor(number / sheet));
        picture.innerHTML = pictures[number % sheet]; // markup of the report's own, escaped there
      }
      open = String(number);
      remember();
    });
    details.open = open === String(number);
    return make("li", "", details);
  }

  /** Keep what is asked for in the address. */
  function remember() {
    const state = new URLSearchParams();
    const asked = [...new FormData(form), ["page", page > 1 ? page : ""], ["open", open]];
    for (const [name, value] of asked) {
      if (value !== "") {
        state.set(name, value);
      }
    }
    history.replaceState(null, "", `#${state}`);
  }

  /** Fill the form from the address. */
  function recall() {
    const state = new URLSearchParams(location.hash.slice(1));
    for (const field of form.elements) {
      if (field.name) {
        field.value = state.get(field.name) ?? "";
      }
    }
    page = Number.parseInt(state.get("page") ?? "1", 10) || 1;
    open = state.get("open") ?? "";
  }

  /** Find the numbers of the examples that are asked for: those with every part of the text. */
  function find() {
    const asked = Object.fromEntries(new FormData(form));
    const parts = asked.q.toLowerCase().split(/\s+/);
    return [...examples.keys()].filter((number) => {
      const one = examples[number];
      return (
        (!asked.outcome || one.outcome === asked.outcome) &&
        (!asked.edits || Object.keys(one.edits).length === Number(asked.edits)) &&
        (!asked.system || one.system === Number(asked.system)) &&
        parts.every((part) => one.text.includes(part))
      );
    });
  }

  function show() {
    const found = find();
    pages = Math.max(1, Math.ceil(found.length / ROWS));
    page = Math.min(Math.max(page, 1), pages);
    const first = (page - 1) * ROWS;
    const shown = found.slice(first, first + ROWS);
    list.start = first + 1;
    list.replaceChildren(...shown.map(row));
    const range = shown.length ? `: ${first + 1} to ${first + shown.length} are listed` : "";
    count.value = `${found.length} of ${examples.length} examples${range}`;
    previous.disabled = page === 1;
    next.disabled = page === pages;
  }

  function turn(step) {
    page += step;
    show();
    remember();
    list.querySelector("summary").focus();
  }

  /** Move the focus by arrow keys from row to row. */
  function walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const rows = [...list.querySelectorAll("summary")];
    const here = rows.indexOf(event.target);
    if (step && here >= 0) {
      event.preventDefault();
      rows[here + step]?.focus();
    }
  }

  if (typeof DecompressionStream === "undefined") {
    return; // an old browser, which shows the page without this part
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    page = 1;
    open = "";
    show();
    remember();
  });
  previous.addEventListener("click", () => turn(-1));
  next.addEventListener("click", () => turn(1));
  list.addEventListener("keydown", walk);
  addEventListener("hashchange", () => {
    recall();
    show();
  });
  recall();
  show();
  browser.hidden = false;
})();
