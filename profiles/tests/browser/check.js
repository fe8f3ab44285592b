// Appended to a copy of the page by the test: looks at the page as a reader would and writes what it saw into the DOM.
const said = [];
window.addEventListener("error", (event) => said.push("error: " + event.message));
const channel = (value) => { const c = value / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
const luminance = ([red, green, blue]) => 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue);
const contrast = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = numbers(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
let least = 99;
for (const element of document.body.querySelectorAll("*")) {
  if (["SCRIPT", "STYLE", "TITLE"].includes(element.tagName) || !hasText(element)) continue;
  if (element.tagName.toLowerCase() === "title" || element.tagName.toLowerCase() === "desc") continue;
  const style = getComputedStyle(element);
  const colour = numbers(element instanceof SVGElement ? style.fill : style.color);
  const ratio = contrast(colour, behind(element));
  least = Math.min(least, ratio);
  if (ratio < 4.5) said.push(`contrast ${ratio.toFixed(2)} of ${element.tagName}: ${element.textContent.slice(0, 40)}`);
}
const drawn = [...document.querySelectorAll("svg")].filter((svg) => {
  const box = svg.getBoundingClientRect();
  return box.width > 200 && box.height > 80 && svg.querySelectorAll("circle, rect, line").length > 4;
});
const knobs = [...document.querySelectorAll("#knobs table")][0];
const column = () => [...knobs.tBodies[0].rows].map((row) => row.cells[0].textContent);
const sorted = (list, down) => [...list].sort((a, b) => a.localeCompare(b, "en", { numeric: true }) * (down ? -1 : 1));
const button = knobs.tHead.querySelector("button");
button.click();
const up = column();
const upState = button.closest("th").getAttribute("aria-sort");
button.click();
const down = column();
const result = document.createElement("pre");
result.id = "seen";
result.textContent = JSON.stringify({
  said,
  leastContrast: Number(least.toFixed(2)),
  dark: matchMedia("(prefers-color-scheme: dark)").matches,
  charts: drawn.length,
  sortsUp: String(up) === String(sorted(up, false)) && upState === "ascending",
  sortsDown: String(down) === String(sorted(up, true)),
  wider: document.documentElement.scrollWidth > document.documentElement.clientWidth,
});
document.body.append(result);
