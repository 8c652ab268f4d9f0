// The button for the theme, and the file in the page, which is saved unpacked.
const theme = document.getElementById("theme"), file = document.getElementById("file");
theme.hidden = false;
theme.addEventListener("click", () => {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (root.dataset.theme || dark) === "dark" ? "light" : "dark";
});
file.addEventListener("click", async event => {
  if (file.download === file.dataset.name) return;  // it is unpacked
  event.preventDefault();
  const packed = Uint8Array.from(atob(file.href.split(",")[1]), letter => letter.charCodeAt(0));
  const content = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  Object.assign(file, {href: URL.createObjectURL(await new Response(content).blob()), download: file.dataset.name});
  file.click();
});
