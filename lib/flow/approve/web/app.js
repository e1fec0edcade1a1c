// Everything works without this file; it saves loading the page, and keys.
"use strict";

const $ = (query) => document.querySelector(query);
const folder = document.body.dataset.folder;
let version = document.body.dataset.version;
let sending = false; // a word is on its way: its answer shows the list as it is then
let sent = 0; // words so far: what was asked for before the last one is stale

// show puts what the server sent in the place of what stands here, and keeps the
// place in the list.
function show(text, url) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const next = page.querySelector("#main");
  if (!next) return location.reload();
  const nav = $("nav"), top = nav ? nav.scrollTop : 0;
  $("#main").replaceWith(next);
  $("nav").scrollTop = top;
  const current = $("nav .current");
  if (current) current.scrollIntoView({ block: "nearest" });
  document.body.className = page.body.className;
  document.title = page.title;
  version = page.body.dataset.version;
  typed();
  if (url) history.pushState(null, "", url);
}

// What a person writes in the place of a draft is kept, by item, until it is approved
// or discarded. While it differs from the draft, nothing approves the draft.
const textOf = (id) => "text " + id;
const idOf = (form) => form.elements.id.value;

function typed() {
  const box = $("#text");
  if (box) {
    const id = idOf(box.form), kept = localStorage.getItem(textOf(id));
    if (box.dataset.draft === undefined) {
      const open = $("#editor").open; // the server has shown a text that was not sent
      box.dataset.draft = $("#draft").textContent;
      if (open) localStorage.setItem(textOf(id), box.value);
      else if (kept !== null) { box.value = kept; $("#editor").open = true; }
    }
    writing(box);
  }
  left();
}

const plain = (text) => text.replace(/\r\n/g, "\n").replace(/\n+$/, "");

function writing(box) {
  const other = plain(box.value) !== plain(box.dataset.draft);
  const yes = box.form.querySelector("button[value=approve]"), own = box.form.querySelector("button[value=edit]");
  if (other) localStorage.setItem(textOf(idOf(box.form)), box.value);
  else localStorage.removeItem(textOf(idOf(box.form)));
  yes.disabled = other;
  yes.textContent = other ? "Your text is open below" : "Approve the draft";
  own.disabled = !other || plain(box.value).trim() === "";
}

// left shows texts whose items no longer wait, so that no work is lost in silence.
function left() {
  const old = $("#kept");
  if (old) old.remove();
  const ids = new Set([...document.querySelectorAll("nav a")].map((a) => a.getAttribute("href").split("/").pop()));
  for (let i = 0; i < localStorage.length; i++) {
    const key = localStorage.key(i);
    if (!key.startsWith("text ") || ids.has(key.slice(5))) continue;
    const box = document.createElement("div"), pre = document.createElement("pre"), drop = document.createElement("button");
    box.id = "kept";
    box.append("You wrote this in the place of a draft that no longer waits:", pre, drop);
    pre.textContent = localStorage.getItem(key);
    drop.textContent = "Discard";
    drop.onclick = () => { localStorage.removeItem(key); left(); };
    $("#main").prepend(box);
    return;
  }
}

document.addEventListener("input", (e) => { if (e.target.id === "text") writing(e.target); });

// go shows another item, or the list as it is now. A key that is pressed meanwhile
// is for what is coming, never for what still stands here.
let going = null;
function go(url, push) {
  const mine = load(url, push).finally(() => { if (going === mine) going = null; });
  if (push) going = mine;
  return mine;
}

async function load(url, push) {
  const before = sent;
  const answer = await fetch(url);
  if (answer.status === 403) return location.reload();
  const text = await answer.text();
  if (sending || before !== sent) return;
  const said = push ? null : $(".said, .fault"); // what came of the last word stays, with its undo
  show(text, push ? url : null);
  if (!push && location.pathname === folder + "/") document.body.className = ""; // a small screen keeps the list
  if (said && !$(".said, .fault")) $("#main").prepend(said);
}

// busy is true while a person writes: nothing may change under their hands.
function busy() {
  const at = document.activeElement;
  return (at && (at.tagName === "TEXTAREA" || at.name === "note")) || ($("#editor") && $("#editor").open);
}

async function send(form, button) {
  const body = new URLSearchParams(new FormData(form));
  if (button && button.name) body.set(button.name, button.value);
  for (const b of form.querySelectorAll("button")) b.disabled = true;
  sending = true;
  sent++;
  let answer, text;
  try {
    answer = await fetch(folder + "/decide", { method: "POST", body });
    text = await answer.text();
  } finally {
    sending = false;
  }
  if (answer.ok && body.get("word") === "edit") localStorage.removeItem(textOf(body.get("id")));
  if (answer.ok || answer.status === 409) return show(text, answer.ok ? folder + "/" : null);
  $("#live").textContent = text;
  for (const b of form.querySelectorAll("button")) b.disabled = false;
  typed();
}

document.addEventListener("submit", (e) => {
  if (e.target.classList.contains("leave")) return localStorage.clear();
  e.preventDefault();
  send(e.target, e.submitter);
});

document.addEventListener("click", (e) => {
  if (e.target.closest(".discard")) {
    e.preventDefault();
    const box = $("#text");
    box.value = box.dataset.draft;
    writing(box);
    $("#editor").open = false;
    return;
  }
  const opener = e.target.closest("[data-opens]");
  if (opener) {
    const box = document.getElementById(opener.dataset.opens);
    box.open = true;
    const field = box.querySelector("textarea, input");
    field.focus();
    const word = opener.dataset.word && box.querySelector(`button[value=${opener.dataset.word}]`);
    if (word) field.onkeydown = (k) => { if (k.key === "Enter") { k.preventDefault(); word.click(); } };
    return;
  }
  const link = e.target.closest("nav a, .back a");
  if (link && !e.metaKey && !e.ctrlKey && !e.shiftKey && e.button === 0) {
    e.preventDefault();
    go(link.getAttribute("href"), true);
  }
});

document.addEventListener("keydown", (e) => {
  if (e.metaKey || e.ctrlKey || e.altKey) return;
  if (e.key === "Escape") {
    if (document.activeElement) document.activeElement.blur();
    for (const box of document.querySelectorAll(".decide details")) {
      if (box.id !== "editor" || !localStorage.getItem(textOf(idOf(box.closest("form"))))) box.open = false;
    }
    return;
  }
  if (e.target.closest("textarea, input:not([type=checkbox])")) return;
  if (press(e.key)) e.preventDefault();
});

// press does what one key says, and tells whether it says anything.
function press(key) {
  const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[key];
  const button = key.length === 1 && $(`[data-key="${CSS.escape(key)}"]`);
  if (!step && !button) return false;
  if (going || sending) {
    Promise.resolve(going).then(() => going || sending || press(key));
    return true;
  }
  if (!step) {
    if (!button.disabled) button.click();
    return true;
  }
  const all = [...document.querySelectorAll("nav a")];
  const at = all.findIndex((a) => a.getAttribute("aria-current"));
  const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  if (next) go(next.getAttribute("href"), true);
  return true;
}

window.addEventListener("popstate", () => go(location.pathname, false));

setInterval(() => {
  for (const g of document.querySelectorAll(".grace")) {
    g.textContent = Math.max(0, Number(g.textContent) - 1);
  }
}, 1000);

const changes = new EventSource(folder + "/changes");
changes.onmessage = (e) => {
  $("#live").textContent = "";
  if (e.data === version || sending) return;
  // Where the address names no item, another one may come first by now.
  if (!busy()) return go($("nav .current a")?.getAttribute("href") ?? location.pathname, false);
  $("#live").textContent = "The list has changed; it is shown again when you have finished.";
};
changes.onerror = () => { $("#live").textContent = "The page's server does not answer; trying again."; };
typed();
