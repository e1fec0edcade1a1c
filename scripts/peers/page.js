// Drives the page of tri-approve web; see page beside it.
"use strict";
const { chromium } = require("playwright-core");
const { spawn, execSync, execFileSync } = require("node:child_process");
const fs = require("node:fs");
const work = process.argv[2], shots = process.env.SHOTS;

let server;
// serve starts the page and returns the address that it prints.
function serve() {
  server = spawn("tri-approve", ["web"], { stdio: ["ignore", "ignore", "pipe"] });
  return new Promise((done, fail) => {
    server.stderr.on("data", (d) => {
      const m = /open (\S+)/.exec(d);
      if (m) done(m[1]);
      else process.stderr.write(d);
    });
    server.on("exit", (code) => fail(new Error("tri-approve web ended with " + code)));
  });
}
const gone = () => new Promise((done) => { server.removeAllListeners("exit"); server.on("exit", done); server.kill("SIGTERM"); });

let failed = 0;
function check(name, ok, more) {
  console.log((ok ? "ok   " : "FAIL ") + name + (ok ? "" : " " + (more ?? "")));
  if (!ok) failed++;
}
const patience = 120000; // ms, for a machine that is busy with other things
// open opens the first draft, and waits until it is there: keys mean what is shown.
async function open(page) {
  const href = await page.locator("nav li.draft a").first().getAttribute("href");
  await page.click(`nav a[href="${href}"]`);
  await page.waitForFunction((h) => location.pathname === h && document.querySelector("nav .current a")?.getAttribute("href") === h, href);
}
const log = () => fs.readFileSync(work + "/home/decisions.ndjson", "utf8").trim().split("\n").map(JSON.parse);
const said = (kind) => log().filter((r) => r.kind === kind);

(async () => {
  const address = await serve();
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const errors = [], outside = [];
  context.on("weberror", (e) => errors.push(e.error().message));
  page.on("console", (m) => m.type() === "error" && !/403|409|ERR_|503/.test(m.text()) && errors.push(m.text()));
  context.on("request", (r) => { if (new URL(r.url()).hostname !== "127.0.0.1") outside.push(r.url()); });

  await page.goto(address);
  const at = page.url(); // the folder of this session
  check("the token leaves the address", !at.includes("token"), at);
  check("the cookie is not for scripts", await page.evaluate(() => document.cookie) === "");
  check("eight wait", await page.locator("nav li.draft").count() === 8);
  check("the cited lines are shown", (await page.locator(".evidence .code").first().textContent()).includes("const RetryLimit"));
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  console.log(`     first paint after ${Math.round(paint)} ms`); // of a machine that may be busy: no check
  if (shots) {
    await page.screenshot({ path: shots + "/light.png" });
    await page.emulateMedia({ colorScheme: "dark" });
    await page.screenshot({ path: shots + "/dark.png" });
    await page.setViewportSize({ width: 390, height: 800 });
    await page.screenshot({ path: shots + "/phone-list.png" });
    await page.click("nav a");
    await page.waitForSelector("body.open");
    await page.screenshot({ path: shots + "/phone.png" });
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(at);
  }

  // Approve, by key, and take it back.
  await page.keyboard.press("a");
  await page.waitForSelector(".said");
  check("approved with one key", said("approve").length === 1);
  await page.keyboard.press("u");
  await page.waitForFunction(() => document.querySelector(".said")?.textContent.includes("Taken back"));
  check("and taken back", said("undo").length === 1);

  // Approve by click.
  await page.click("button.yes[value=approve]");
  await page.waitForFunction(() => document.querySelector(".said")?.textContent.includes("Approved"));
  check("approved with one click", said("approve").length === 2);

  // A draft that comes before the others does not take the place of the one that is read.
  await page.goto(at);
  const first = await page.locator("nav li.draft a").first().getAttribute("href");
  await page.click("button.yes[value=approve]");
  await page.waitForFunction((h) => document.querySelector("nav .current a").getAttribute("href") !== h, first);
  const read = await page.locator("nav .current a").getAttribute("href");
  execFileSync("tri-approve", ["undo", first.split("/").pop()]);
  await page.waitForFunction((h) => document.querySelector("nav li.draft a").getAttribute("href") === h, first);
  check("the draft that is read stays", await page.locator("nav .current a").getAttribute("href") === read);
  await page.goto(at);

  // Edit.
  await open(page);
  await page.keyboard.press("e");
  await page.fill("#text", "It is in loader2.go, line 4.");
  await page.click("button[value=edit]");
  await page.waitForFunction(() => document.querySelector(".fault")?.textContent.includes("not posted yet"));
  check("an edit is shown with what covers it before it counts", said("edit").length === 0 && await page.inputValue("#text") === "It is in loader2.go, line 4.");
  await page.click("button[value=edit]");
  await page.waitForFunction(() => document.querySelector(".said")?.textContent.includes("your text"));
  check("edited", said("edit")[0]?.text === "It is in loader2.go, line 4." && said("edit")[0].distance > 0);

  // A text that was typed is not dropped, and nothing approves the draft beside it.
  await open(page);
  const yeses = said("approve").length;
  await page.keyboard.press("e");
  await page.fill("#text", "It panics.");
  check("a yes to the draft is off while a text is open", await page.locator("button[value=approve]").isDisabled());
  await page.keyboard.press("Escape");
  await page.keyboard.press("a");
  await page.reload();
  check("the text outlives Esc, a key and a reload", await page.inputValue("#text") === "It panics." && said("approve").length === yeses);
  await page.click(".discard");
  check("discarded, the draft can be approved", await page.locator("button[value=approve]").isEnabled());

  // Redo and dismiss, with words.
  await open(page);
  await page.keyboard.press("r");
  await page.fill("#note", "look at the <b>client</b>");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".said")?.textContent.includes("again"));
  check("redone with a note", said("redo")[0]?.note === "look at the <b>client</b>");
  await open(page);
  await page.keyboard.press("d");
  await page.fill("#note", "asked twice");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".said")?.textContent.includes("Dismissed"));
  check("dismissed with a reason", said("dismiss")[0]?.note === "asked twice");

  // Two tabs in a race: the refusal counts, and a yes that comes after it is told.
  const second = await context.newPage();
  const href = await page.locator("nav li.draft a").first().getAttribute("href");
  const base = "http://127.0.0.1:" + new URL(address).port;
  const before = log().length;
  await Promise.all([page.goto(base + href), second.goto(base + href)]);
  await Promise.all([
    page.evaluate(() => document.querySelector("button[value=approve]").click()),
    second.evaluate(() => { document.querySelector("#saying").open = true; document.querySelector("#saying button[value=dismiss]").click(); }),
  ]);
  await Promise.all([page, second].map((p) => p.waitForSelector(".said, .fault")));
  const told = await Promise.all([page, second].map((p) => p.locator(".fault").count()));
  const words = log().slice(before).filter((r) => ["approve", "dismiss"].includes(r.kind)).map((r) => r.kind).join();
  check("two tabs, the refusal counts", (told[0] + told[1] ? /^dismiss(,approve)?$/ : /^approve,dismiss$/).test(words), [words, told]);

  // A stale tab: the draft is replaced while it is looked at.
  const stale = await context.newPage();
  await stale.goto(at); // the other tabs may not have heard yet what is left
  await open(stale);
  const key = JSON.parse(execSync("tri-approve list --json").toString().split("\n")[0]).key;
  const seal = await stale.inputValue("form.decide input[name=seal]");
  const id = await stale.inputValue("form.decide input[name=id]"), sha = await stale.inputValue("form.decide input[name=sha]");
  execSync(`tri-approve dismiss ${key} --reason elsewhere`);
  await stale.waitForFunction(() => document.querySelector(".gone"));
  check("a tab hears of a decision elsewhere", true);
  const status = await stale.evaluate(async (f) => (await fetch(document.body.dataset.folder + "/decide", { method: "POST", body: new URLSearchParams(f) })).status, { word: "approve", seal, id, sha });
  check("and cannot decide it any more", status === 409, status);

  // The server is started again under the page.
  await gone();
  await page.waitForFunction(() => document.querySelector("#live").textContent.includes("does not answer"));
  check("a page says that its server is gone", true);
  const again = await serve();
  await page.goto(at);
  check("a session ends with its server", await page.locator("nav li.draft").count() === 0);
  await page.goto(again);
  check("its new address opens the page", await page.locator("nav li.draft").count() >= 1);
  const n = said("approve").length;
  await page.keyboard.press("a");
  await page.waitForSelector(".said");
  check("and decides", said("approve").length === n + 1);

  // A new question comes in while the page is open.
  fs.appendFileSync(work + "/chat/dev", "late: where is RetryLimit1 set?\n");
  execFileSync("bash", ["-c", "ask"]);
  await page.waitForFunction(() => document.querySelector("nav").textContent.includes("late"));
  check("a new draft appears by itself", true);

  check("no script of the chat has run", !(await page.evaluate(() => window.owned)));
  check("nothing was asked of the network", outside.length === 0, outside);
  check("no error on the page", errors.length === 0, errors);
  await browser.close();
  await gone();
  process.exit(failed ? 1 : 0);
})().catch((e) => { console.error(e); server?.kill("SIGKILL"); process.exit(1); });
