"use strict";
// What operators see and change, once a second from /v1. Texts of others get in by textContent alone.
const kEvery = 1000, kPatience = 5000, kMinute = 60, kRows = 50, kTightest = 5;
const $ = id => document.getElementById(id);
const el = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};
const set = (node, text) => { if (node.textContent !== text) node.textContent = text; };
const sum = (numbers, last = numbers.length) => numbers.slice(-last).reduce((a, b) => a + b, 0);
const number = n => n.toLocaleString("en-US");
const share = (part, whole) => part ? `${(100 * part / whole).toFixed(1)} %` : "0 %";
// Marks that change the direction of text, take no room or cannot be seen would let one key look like another.
const visible = text => text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
const name = text => el("span", {className: "name"}, text === "" ? "(empty)" : visible(text));
const stamp = time => time.slice(0, 19).replace("T", " ");
const whenIs = time => !time ? "" : new Date(time).getUTCFullYear() > 2200 ? "no end" : `${stamp(time)}, in ${span((new Date(time) - Date.now()) / 1000)}`;
function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([each]) => s >= each * 2) || [1, "s"];
  return `${Math.floor(s / size)} ${unit}`;
}

// --- Asking ---
let status = null, overrides = [], moreOverrides = false, series = {};
const kAuthorization = "weir-authorization";

class Silence extends Error {}  // the server does not answer
async function ask(method, path, body, fields = {}) {
  const headers = {...fields}, authorization = sessionStorage.getItem(kAuthorization);
  if (authorization) headers.Authorization = authorization;
  if (body) headers["Content-Type"] = "application/json";
  let answer, text, told = null;
  try {
    answer = await fetch(path, {method, headers, body: body && JSON.stringify(body), cache: "no-store", credentials: "omit",
                                referrerPolicy: "no-referrer", signal: AbortSignal.timeout(kPatience)});
    text = await answer.text();
  } catch { throw new Silence(); }
  try { told = text ? JSON.parse(text) : null; } catch { told = {detail: text.slice(0, 300)}; }
  return {ok: answer.ok, code: answer.status, told};
}
const why = ({code, told}) => [told?.detail || told?.title || `status ${code}`,
    ...(told?.errors || []).map(each => [each.pointer, each.detail].filter(Boolean).join(" "))].join("; ");

const silent = () => ({ok: false, code: 0, told: {detail: "The server does not answer, and may have heard or not."}});

// --- Rows that stay where they are while somebody is at them ---
const busy = body => body.contains(document.activeElement) || body.matches(":hover");
function fill(body, items, key, make, update) {
  const rows = new Map([...body.rows].map(row => [row.dataset.key, row]));
  const wanted = items.map(item => {
    const row = rows.get(key(item)) || Object.assign(el("tr"), {fresh: true});
    rows.delete(key(item));
    row.item = item;
    if (row.fresh) { row.dataset.key = key(item); make(row); row.fresh = false; }
    update?.(row, item);
    return row;
  });
  body.parentElement.hidden = !items.length;
  const held = busy(body);
  for (const row of rows.values()) if (!row.contains(document.activeElement)) row.remove();
  wanted.forEach((row, at) => {
    if (!row.isConnected || !held && body.rows[at] !== row) body.insertBefore(row, held ? null : body.rows[at] || null);
  });
}
const body = id => document.querySelector(`#${id} tbody`);
const cell = (row, className, ...children) => row.appendChild(el("td", {className}, ...children));
const unit = text => el("span", {className: "unit"}, " " + text);
const fact = (list, facts) => list.replaceChildren(...facts.filter(([, value]) => value !== null && value !== "").map(
    ([title, value]) => el("div", {}, el("dt", {}, title), el("dd", {}, value))));

// --- Limits ---
const kBins = 60, kSvg = "http://www.w3.org/2000/svg";
function bars() {
  const svg = document.createElementNS(kSvg, "svg");
  svg.setAttribute("viewBox", "0 0 300 100");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  for (const kind of ["allowed", "would", "denied"]) {
    svg.append(document.createElementNS(kSvg, "path"));
    svg.lastChild.setAttribute("class", kind);
  }
  return svg;
}
function draw(svg, {allowed, denied, would_deny}) {
  const size = allowed.length / kBins, bins = of => Array.from({length: kBins}, (_, i) => sum(of.slice(i * size, (i + 1) * size)));
  const stacked = [allowed, would_deny, denied].map(bins);
  const most = Math.max(1, ...stacked[0].map((_, i) => stacked[0][i] + stacked[1][i] + stacked[2][i]));
  const base = new Array(kBins).fill(0);
  stacked.forEach((of, kind) => {
    let path = "";
    of.forEach((n, i) => {
      if (n) path += `M${i * 5} ${100 - 100 * base[i] / most}h4.4V${100 - 100 * (base[i] + n) / most}h-4.4z`;
      base[i] += n;
    });
    svg.children[kind].setAttribute("d", path);
  });
  svg.setAttribute("aria-label", `in five minutes ${number(sum(allowed))} allowed, ${number(sum(denied))} denied, ${number(sum(would_deny))} would be denied`);
}
const seriesOf = limit => limit.series || series[limit.name];
function lastMinute(limit) {
  const its = seriesOf(limit);
  if (!its) return {allowed: 0, denied: 0, banned: 0, would: 0, all: 0};
  const [allowed, denied, banned, would] = [its.allowed, its.denied, its.banned || [], its.would_deny].map(each => sum(each, kMinute));
  return {allowed, denied, banned, would, all: allowed + denied + would};
}
function showLimits() {
  const limits = status.limits.map(limit => ({...limit, minute: lastMinute(limit)}));
  // Above 50 limits the server has sorted them, and each is asked for its series in turn.
  const part = ({all}, n) => all ? n / all : 0;
  if (limits.every(each => each.series))
    limits.sort(({minute: a}, {minute: b}) => part(b, b.denied) - part(a, a.denied) || part(b, b.would) - part(a, a.would) || b.all - a.all);
  fill(body("limits"), limits.slice(0, kRows), limit => limit.name, row => {
    row.rates = el("div", {className: "quiet small"});
    cell(row, "left", name(row.item.name), row.rates);
    row.chart = bars();
    cell(row, "left bars", row.chart);
    row.numbers = ["allowed", "denied", "would deny", "denied"].map(each =>
        cell(row, "", el("span"), unit(each)).firstChild);
  }, (row, limit) => {
    set(row.rates, limit.windows.map(each => each.rate).join(", ") + (limit.shadow ? " \u00b7 in shadow" : "") +
        (limit.minute.banned ? ` \u00b7 ${number(limit.minute.banned)} banned` : ""));
    const {allowed, denied, would, all} = limit.minute, its = seriesOf(limit);
    [number(allowed), number(denied), number(would), share(denied, all)].forEach((text, i) => set(row.numbers[i], its ? text : "\u2013"));
    row.numbers[1].parentElement.classList.toggle("red", denied > 0);
    if (its) draw(row.chart, its);
  });
  const out = limits.length + (status.limits_left_out || 0);
  set($("limits-more"), !out ? "There is no limits file, so there is no limit to show." :
      out > kRows ? `The tightest ${Math.min(kRows, limits.length)} of ${number(out)} limits.` : "");
  const deny = limits.filter(each => each.minute.denied).sort((a, b) => b.minute.denied - a.minute.denied);
  set($("headline"), deny.length ? `${deny.length} of ${number(out)} limits denied in the last minute: ${visible(deny[0].name)} ${number(deny[0].minute.denied)} of ${number(deny[0].minute.all)} requests${deny[0].minute.banned ? `, ${number(deny[0].minute.banned)} of them banned` : ""}.`
      : "Nobody was denied in the last minute.");
  showShadows(limits);
}
function showShadows(limits) {
  const ends = new Map(overrides.filter(each => each.kind === "shadow_on").map(each => [each.limit, each.until]));
  const found = limits.filter(each => each.shadow || ends.has(each.name) || sum(seriesOf(each)?.would_deny || []) > 0);
  $("shadows").hidden = !found.length;
  fill(body("shadows"), found.slice(0, kRows), limit => limit.name, row => {
    cell(row, "left", name(row.item.name));
    row.ends = cell(row, "left");
    row.numbers = ["would be denied", "in all"].map(each => cell(row, "", el("span"), unit(each)).firstChild);
  }, (row, limit) => {
    const its = seriesOf(limit), would = its ? sum(its.would_deny) : 0;
    set(row.ends, whenIs(ends.get(limit.name) || limit.shadow));
    set(row.numbers[0], number(would));
    set(row.numbers[1], its ? number(sum(its.allowed) + sum(its.denied) + would) : "\u2013");
  });
}

// --- Who is denied most ---
// The attributes of a key, by the limit's `by`; null where its text does not say them.
function attributesOf(limit, key) {
  if (!limit || !limit.by.length || /\.\.\.sha256:[0-9a-f]{64}$/.test(key) || /^#[0-9a-f]{16}$/.test(key)) return null;
  const found = [];
  for (let i = limit.by.length - 1, rest = key; i >= 0; --i) {
    const mark = (i ? " " : "") + limit.by[i] + "=", at = i ? rest.lastIndexOf(mark) : rest.startsWith(mark) ? 0 : -1;
    // A value that looks like the next attribute could be another's key.
    if (at < 0 || i && rest.indexOf(mark) !== at) return null;
    found.unshift([limit.by[i], rest.slice(at + mark.length)]);
    rest = rest.slice(0, at);
  }
  return Object.fromEntries(found);
}
const maySteer = () => status && status.role !== "decide" && status.role !== "none";
function showTop({ok, code, told}) {
  const rows = ok ? told.top : [];
  set($("top-of"), !ok ? code === 404 ? "This server does not count them." : why({code, told})
      : !rows.length ? `Nobody in the last ${span(told.seconds)}.`
      : `Of ${[told.total && `${number(told.total)} denials of ${number(told.keys)} keys`, told.banned && `${number(told.banned)} by bans`]
          .filter(Boolean).join(", and ")} in the last ${span(told.seconds)}.`);
  fill(body("top"), rows, each => [each.limit, each.key, each.banned].join("\0"), row => {
    const limit = () => status.limits.find(each => each.name === row.item.limit), attributes = attributesOf(limit(), row.item.key);
    cell(row, "left", name(row.item.key), ...row.item.banned ? [" ", el("span", {className: "tag"}, "banned")] : []);
    cell(row, "left", name(row.item.limit));
    row.count = cell(row, "", el("span"), unit("denials")).firstChild;
    const doing = cell(row, "doing");
    if (!attributes || !maySteer()) return;
    for (const [what, run] of [["Look", look], ...row.item.banned ? [] : [["Ban", openBan], ["Raise", openRaise]]])
      doing.append(el("button", {type: "button", ariaLabel: `${what}: ${visible(row.item.key)}, limit ${row.item.limit}`, onclick: () => run(limit(), attributes)}, what));
  }, (row, each) => set(row.count, (each.error ? `${number(each.count - each.error)} to ` : "") + number(each.count)));
}
async function look(limit, attributes) {
  const [dialog, rows] = [$("look"), body("look")];
  set($("look-title"), "Look: " + visible(wordsOf(attributes)));
  rows.replaceChildren();
  dialog.querySelector("[role=alert]").textContent = "";
  dialog.showModal();
  const answer = await ask("POST", "/v1/explain", {attributes}).catch(silent);
  if (!answer.ok) return void set(dialog.querySelector("[role=alert]"), why(answer));
  for (const each of answer.told.limits || []) {
    const row = rows.appendChild(el("tr"));
    cell(row, "left", name(each.name), el("div", {className: "quiet small name"}, visible(each.key || "")));
    cell(row, "left" + (each.verdict === "denied" ? " red" : ""), each.verdict);
    cell(row, "left", each.rate || "");
    cell(row, "", each.remaining === undefined ? "" : number(each.remaining), unit("left"));
    cell(row, "left", visible([each.override ? `override ${each.override}: ${each.override_reason}` : each.reason, each.missing && `${each.missing} is missing`,
                               each.retry_after && `again in ${span(each.retry_after)}`].filter(Boolean).join("; ")));
  }
}
const wordsOf = when => when === "all" ? "everybody" : Object.entries(when).map(([a, v]) => `${a}=${v}`).join(" ");

// --- Changing ---
const kSpans = [["15 minutes", 900], ["1 hour", 3600], ["4 hours", 14400], ["1 day", 86400], ["3 days", 259200], ["7 days", 604800], ["30 days", 2592000]];
const field = (title, input) => el("label", {}, el("span", {}, title), input);
const spanField = () => field("For how long", el("select", {name: "for"}, ...kSpans.map(([text, s]) => el("option", {value: s}, text))));
const reasonField = required => field(required ? "Reason, for those who come after you" : "Reason, if there is one",
    el("input", {name: "reason", required, maxLength: 256, autocomplete: "off"}));
function open(title, does, fields, says, run) {
  const dialog = $("act"), form = dialog.querySelector("form");
  set($("act-title"), title);
  set($("act-do"), does);
  $("act-fields").replaceChildren(...fields);
  const alert = form.querySelector("[role=alert]");
  alert.textContent = "";
  form.oninput = () => set($("act-says"), says(form.elements));
  form.oninput();
  form.onsubmit = async event => {
    event.preventDefault();
    $("act-do").disabled = true;
    const answer = await run(form.elements).catch(silent);
    $("act-do").disabled = false;
    if (!answer.ok) return void (alert.textContent = why(answer));
    dialog.close();
    $("said").textContent = `Done: ${title}.`;
    poll();
  };
  dialog.showModal();
  form.querySelector("input:not([type=checkbox]), select").focus();
}
const endOf = elements => stamp(new Date(Date.now() + 1000 * elements.for.value).toISOString());
const where = () => status.store ? "at every server of this store" : "at this server";
function steer(kind, title, limit, attributes, more, says, rates) {
  const hash = status.file.hash, isPattern = Object.values(attributes).some(value => value.includes("*"));
  const sure = isPattern ? [el("label", {}, el("input", {type: "checkbox", required: true}),
      "The key holds *, which is a pattern: this concerns everybody whom it matches, not this key alone.")] : [];
  open(`${title} ${visible(wordsOf(attributes))}`, title, [...more, spanField(), reasonField(true), ...sure], says,
      elements => ask("POST", "/v1/overrides", {kind, limit: limit.name, when: attributes, ...rates?.(elements), for: Number(elements.for.value),
                      reason: elements.reason.value}, {"If-Match": `"${hash}"`}));
}
function openBan(limit, attributes) {
  steer("ban", "Ban", limit, attributes, [], elements =>
      `Every request with ${visible(wordsOf(attributes))} that meets the limit ${limit.name} is denied ${where()} until ${endOf(elements)}. It charges nothing; slots that are open stay.`);
}
function openRaise(limit, attributes) {
  const inputs = limit.windows.map((each, i) => field(`Rate, now ${each.rate}; empty: as it is`, el("input", {name: "rate" + i, placeholder: each.rate, autocomplete: "off", spellcheck: false})));
  const rates = elements => limit.windows.map((_, i) => elements["rate" + i].value.trim()).filter(Boolean);
  steer("raise", "Raise", limit, attributes, inputs, elements =>
      `${visible(wordsOf(attributes))} gets ${rates(elements).join(", ") || "\u2026"} at the limit ${limit.name} ${where()} until ${endOf(elements)}.`,
      elements => ({rate: rates(elements)}));
}
function openLift(its) {
  open(`Lift override ${its.number}`, "Lift", [reasonField(false)], () =>
      `The ${kindOf(its.kind)} of ${visible(wordsOf(its.when))} at the limit ${its.limit} ends now.`,
      elements => ask("DELETE", `/v1/overrides/${its.number}` + (elements.reason.value ? "?reason=" + encodeURIComponent(elements.reason.value) : "")));
}

// --- Overrides, store, file ---
const kindOf = kind => ({ban: "ban", raise: "raise", lower: "lowering", shadow_on: "shadow", shadow_off: "enforcing"})[kind] || kind;
function showOverrides() {
  set($("overrides-of"), overrides.length ? moreOverrides ? `The first ${overrides.length}.` : "" : "None is in force.");
  fill(body("overrides"), overrides, each => String(each.number), row => {
    const its = row.item;
    cell(row, "left", el("span", {className: "tag"}, kindOf(its.kind)), " ", name(its.limit));
    cell(row, "left", name(wordsOf(its.when)), el("div", {className: "quiet small"}, (its.rate || []).join(", ")));
    row.ends = cell(row, "left");
    cell(row, "left", visible(its.reason), el("div", {className: "quiet small"}, `set ${stamp(its.set_at)}${its.user === "-" ? "" : " by " + visible(its.user)}${its.durable ? "" : ", in memory alone"}`));
    const doing = cell(row, "doing");
    if (maySteer()) doing.append(el("button", {type: "button", ariaLabel: `Lift override ${its.number}`, onclick: () => openLift(row.item)}, "Lift"));
  }, (row, its) => set(row.ends, whenIs(its.until)));
}
function showServer() {
  const {server, store, file, role, user} = status;
  set($("version"), server.version);
  document.title = `weir: ${status.limits.length} limits`;
  const facts = [["up for", span(server.uptime)], ["connections", number(server.connections)], ["waiting", number(server.waiters)],
                 ["store", !store ? "none" : store.up ? "answers" : "does not answer"], ["role", (user && user !== "-" ? visible(user) + ", " : "") + role]];
  if (server.draining) facts.unshift(["state", "draining"]);
  if (sessionStorage.getItem(kAuthorization)) facts.push(["signed in", signOut]);
  if (!busy($("facts"))) fact($("facts"), facts);
  fact($("under"), [["store", !store ? "none: this server decides alone" : store.up ? "answers" : `does not answer: ${visible(store.why || "")}`],
      ["since", store?.since ? stamp(store.since) : ""],
      ["not done by it", store ? Object.entries(store.causes).filter(([, n]) => n).map(([cause, n]) => `${cause} ${number(n)}`).join(", ") : ""],
      ["file", file ? name(file.path) : "none"], ["hash", file ? el("code", {}, file.hash) : ""], ["loaded", file ? stamp(file.loaded_at) : ""]]);
  const refused = file?.refused;
  $("refused").replaceChildren(...(refused ? [el("p", {className: "note warning"}, `Refused at ${stamp(refused.at)}: the file before it is in force.`),
      ...refused.errors.map(each => el("p", {className: "note"}, visible(each)))] : []));
}

// --- Signing in ---
const signOut = el("button", {type: "button", onclick: () => {
  sessionStorage.removeItem(kAuthorization);
  $("all").hidden = true;
  poll();
}}, "Sign out");
function signIn(because) {
  const dialog = $("sign"), form = dialog.querySelector("form");
  $("sign-in").hidden = false;
  if (dialog.open) return;
  form.reset();
  form.querySelector("[role=alert]").textContent = because;
  form.onsubmit = event => {
    event.preventDefault();
    const {user, secret} = form.elements;
    const bytes = String.fromCharCode(...new TextEncoder().encode(`${user.value}:${secret.value}`));
    if (!user.value && /[^\x21-\x7e]/.test(secret.value)) return void (form.querySelector("[role=alert]").textContent = "A token has no such characters.");
    sessionStorage.setItem(kAuthorization, user.value ? "Basic " + btoa(bytes) : "Bearer " + secret.value);
    form.reset();
    dialog.close();
    poll();
  };
  dialog.showModal();
}
$("sign-in").onclick = () => signIn("");
for (const button of document.querySelectorAll("dialog button[value=cancel]")) button.onclick = () => button.closest("dialog").close();

// --- Once a second, while somebody looks ---
let timer = 0, asks = false, again = false, lastSeen = null, nextSeries = 0;
async function poll() {
  clearTimeout(timer);
  if (asks) return void (again = true);
  asks = true;
  let goesOn = true;
  try {
    goesOn = await once();
  } catch (error) {
    if (!(error instanceof Silence)) throw error;
    set($("stale"), "The server does not answer." + (lastSeen ? ` What is below is of ${stamp(lastSeen.toISOString())}.` : ""));
  } finally {
    asks = false;
    if (again || goesOn && !document.hidden) timer = setTimeout(poll, again ? 0 : kEvery);
    again = false;
  }
}
async function once() {
  const answer = await ask("GET", "/v1/status");
  set($("stale"), "");
  $("sign-in").hidden = answer.ok;
  if (answer.ok) {
    status = answer.told;
    await askMore();
    if (answer.told.limits.length && !answer.told.limits[0].series) await askSeries();
  }
  set($("trouble"), answer.ok || answer.code === 401 ? "" : why(answer));
  $("all").hidden = !answer.ok;
  if (answer.ok) {
    lastSeen = new Date();
    showServer();
    showLimits();
    return true;
  }
  set($("headline"), answer.code === 401 ? "Who are you?" : "The server shows nothing.");
  if (answer.code === 401) signIn(sessionStorage.getItem(kAuthorization) ? "That is wrong, or no longer right." : "");
  return answer.code !== 401 && answer.code !== 403;
}
async function askMore() {
  const [top, list] = await Promise.all([ask("GET", "/v1/top?count=20"), ask("GET", "/v1/overrides?count=100")]);
  overrides = list.ok ? list.told.overrides : [];
  moreOverrides = list.ok && list.told.more;
  showTop(top);
  showOverrides();
}
// Above 50 limits: those of the tightest, and of the others one a second.
async function askSeries() {
  const shown = status.limits.slice(0, kRows), others = shown.slice(kTightest);
  const asked = shown.slice(0, kTightest).concat(others.length ? others[nextSeries++ % others.length] : []);
  await Promise.all(asked.map(async limit => {
    const answer = await ask("GET", "/v1/status?limit=" + encodeURIComponent(limit.name));
    if (answer.ok && answer.told.limits[0]?.series) series[limit.name] = answer.told.limits[0].series;
  }));
}
document.addEventListener("visibilitychange", () => document.hidden ? clearTimeout(timer) : poll());
poll();
