"use strict";
// What a page does beyond showing itself: hovering, sorting, one limit at a time. Without it the page is complete.
// Text gets in as text nodes alone.
const data = JSON.parse(document.getElementById("data").textContent);
const tip = document.getElementById("tip");
const number = n => Math.round(n).toLocaleString("en-US");
const stamp = s => new Date(s * 1000).toISOString().slice(0, 19).replace("T", " ");
const el = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

// --- Hovering ---
function series(plot) {
  const [limit, client] = plot.dataset.at.split(" ").map(Number), found = data.limits[limit];
  return client === undefined ? {...data.series, denied: found.series_denied} : found.worst[client].timeline;
}
function rateInWords(rate) {
  const [name, seconds] = [["a second", 1], ["a minute", 60], ["an hour", 3600], ["a day", 86400]]
      .find(([, s]) => rate * s >= .9999) || ["a day", 86400];
  return `${Number((rate * seconds).toPrecision(3))} ${name}`;
}
// What is under a place from 0 to 1: its left edge and width there, a title, and rows.
function under(plot, at) {
  if (plot.dataset.plot === "curve") {
    const points = data.curve, left = Number(plot.dataset.low), right = Number(plot.dataset.high);
    if (!points.length) return null;
    const rate = p => 1e9 / p.interval_ns, place = p => Math.log(rate(p) / left) / Math.log(right / left);
    const found = points.filter(p => place(p) <= at).pop() || points[0];
    return {left: place(found), width: 0, title: rateInWords(rate(found)), rows: [["", "burst needed", number(found.burst)]]};
  }
  const {from_s, bin_s, requests, denied} = series(plot), bin = Math.min(requests.length - 1, Math.floor(at * requests.length));
  if (bin < 0) return null;
  const from = from_s + bin * bin_s, few = denied[bin] || 0;
  return {left: bin / requests.length, width: 1 / requests.length, title: `${stamp(from)} to ${stamp(from + bin_s).slice(11)}`,
          rows: [["", "requests", number(requests[bin])], ["allowed", "allowed", number(requests[bin] - few)],
                 ["denied", "denied", number(few)]]};
}
function hide() {
  tip.hidden = true;
  document.querySelectorAll(".mark").forEach(mark => mark.remove());
}
function point(plot, event) {
  hide();
  const box = plot.getBoundingClientRect(), found = under(plot, (event.clientX - box.left) / box.width);
  if (!found) return;
  const mark = el("div", {className: "mark"});
  mark.style.left = found.left * 100 + "%";
  mark.style.width = found.width * 100 + "%";
  plot.append(mark);
  tip.replaceChildren(el("b", {}, found.title), ...found.rows.map(([kind, name, value]) =>
      el("div", {}, el("span", {}, ...(kind ? [el("i", {className: kind})] : []), name), el("span", {}, value))));
  tip.hidden = false;
  const right = event.clientX + 14 + tip.offsetWidth > innerWidth - 8;
  tip.style.left = Math.max(8, right ? event.clientX - 14 - tip.offsetWidth : event.clientX + 14) + "px";
  tip.style.top = Math.max(8, Math.min(event.clientY + 14, innerHeight - 8 - tip.offsetHeight)) + "px";
}
for (const plot of document.querySelectorAll("[data-plot]")) {
  for (const kind of ["pointermove", "pointerdown"]) plot.addEventListener(kind, event => point(plot, event));
  plot.addEventListener("pointerleave", hide);
}

// --- Sorting ---
for (const head of document.querySelectorAll(".grid th, .worst th")) {
  const body = head.closest("table").tBodies[0], column = head.cellIndex;
  if (body.rows.length < 2 || !body.rows[0].cells[column].dataset.v) continue;
  const button = el("button", {type: "button"}, ...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending", value = row => Number(row.cells[column].dataset.v);
    head.parentElement.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...[...body.rows].sort((a, b) => (value(a) - value(b)) * (up ? 1 : -1)));
  });
}

// --- One limit at a time ---
const sections = [...document.querySelectorAll("section.limit")];
if (sections.length > 1) {
  const tabs = el("nav", {className: "tabs", ariaLabel: "limits"});
  const show = chosen => {
    sections.forEach(section => section.classList.toggle("hidden", chosen !== null && section !== chosen));
    [...tabs.children].forEach((tab, i) => tab.setAttribute("aria-pressed", (sections[i] || null) === chosen));
  };
  for (const section of [...sections, null]) {
    const tab = el("button", {type: "button"}, section ? section.querySelector("h2").textContent : "all");
    tab.addEventListener("click", () => show(section));
    tabs.append(tab);
  }
  sections[0].before(tabs);
  const follow = () => show(sections.find(section => "#" + section.id === location.hash) || sections[0]);
  addEventListener("hashchange", () => { follow(); tabs.scrollIntoView(); });
  follow();
}
