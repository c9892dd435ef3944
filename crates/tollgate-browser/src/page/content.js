(longest, telling, [part, MOST], ...closed) => {
  const SECTIONS = new Set(["H1","H2","H3","H4","H5","H6","P","LI","PRE","BLOCKQUOTE","TD","TH","DT","DD","FIGCAPTION","SUMMARY","CAPTION","ADDRESS","LEGEND","LABEL"]);
  const SKIP = new Set(["SCRIPT","STYLE","NOSCRIPT","TEMPLATE","HEAD","SVG","svg","INPUT","TEXTAREA","SELECT","BUTTON"]);
  const HOSTS = new Set(["ARTICLE","ASIDE","DIV","FOOTER","HEADER","MAIN","NAV","SECTION","SPAN"]);
  const WEIGHT = { H1: 1, H2: 0.9, H3: 0.8, H4: 0.7, H5: 0.6, H6: 0.6, P: 0.8, PRE: 0.8, BLOCKQUOTE: 0.7, LI: 0.5, TD: 0.45, TH: 0.5 };
  const sections = [], links = [], images = [];
  let heading = "", bytes = 0, count = 0, last = 0, shy = false;
  // Shadow trees that are not to be seen from outside come by something in them.
  const trees = new Map(closed.map((one) => one.getRootNode()).map((root) => [root.host, root]));
  const inside = (one) => one.shadowRoot ?? trees.get(one);
  const weight = (text) => text.length + 2 * (text.match(/[^\x00-\x7f]/g)?.length ?? 0);
  const clean = (text) => (text || "").replace(/\s+/g, " ").trim();
  const width = Math.max(1, innerWidth), height = Math.max(1, innerHeight);
  const isMain = (one) => !one.closest("nav,header,footer,aside,[role=navigation],[role=banner],[role=contentinfo],[role=complementary]");
  const add = (tag, text, one) => {
    // Lines are what some texts are made of.
    text = tag === "PRE" ? (text || "").replace(/\r/g, "").replace(/^\n+|\s+$/g, "") : clean(text);
    if (!text.trim()) return;
    const box = one.getBoundingClientRect();
    const main = isMain(one);
    const position = Math.max(0, 1 - Math.max(0, box.top + scrollY) / (height * 5));
    const area = Math.sqrt(Math.min(1, (box.width * box.height) / (width * height)));
    const font = Math.min(1, parseFloat(getComputedStyle(one).fontSize || "16") / 32);
    const attention = 0.22 * position + 0.2 * area + 0.12 * font + 0.2 * (WEIGHT[tag] || 0.4) + 0.18 * (main ? 1 : 0.45) + 0.08 * Math.min(1, text.length / 240);
    const isHeading = /^H[1-6]$/.test(tag);
    if (isHeading) heading = text.slice(0, 120);
    // A long text is several sections, so that all of it is there. Which part a section is in
    // depends on what is before it alone.
    for (let at = 0; at < text.length; ) {
      const end = ending(text, at, tag === "PRE" ? "\n" : " ");
      const piece = text.slice(at, end);
      at = end;
      count++;
      last = Math.floor(bytes / MOST);
      bytes += weight(piece) + weight(heading) + 50;
      if (last !== part) continue;
      const section = { tag: tag.toLowerCase(), text: tag === "PRE" ? piece.replace(/\n$/, "") : piece.trim(), attention: Math.round(attention * 100) / 100, main };
      if (!isHeading && heading) section.heading = heading;
      sections.push(section);
    }
  };
  // Where a piece of a text ends: between words where there are any, and never inside of a character.
  const ending = (text, at, between) => {
    if (text.length - at <= longest) return text.length;
    const end = at + longest;
    const space = text.lastIndexOf(between, end);
    if (space > at + longest / 2) return space + 1;
    return /[\uD800-\uDBFF]/.test(text[end - 1]) && longest > 1 ? end - 1 : end;
  };
  // Text that can be edited is a field as well, and some are for secrets.
  const EDITABLE = "[contenteditable],[role=textbox],[role=searchbox],[role=combobox]";
  // What nobody can see was not written for whoever reads the page.
  const HIDING = /^(inset\((100|50)%|circle\(0|polygon\(0px 0px\)|rect\(([01]px,? ?){4}\)$)/;
  const far = (length) => parseFloat(length) <= -1000;
  const unseen = (one) => {
    const style = getComputedStyle(one);
    // What is about to appear will be seen.
    const comes = /[1-9]/.test(style.transitionDuration) || style.animationName !== "none" || style.transform !== "none" || style.willChange !== "auto";
    if (parseFloat(style.opacity) < 0.02 && !comes) return true;
    if (far(style.textIndent) || HIDING.test(style.clipPath)) return true;
    const apart = style.position === "absolute" || style.position === "fixed";
    if (apart && (HIDING.test(style.clip) || far(style.left) || far(style.top))) return true;
    if (far(style.marginLeft) || far(style.marginTop)) return true;
    if (style.overflowX !== "visible" && style.display !== "inline") {
      if (one.offsetHeight <= 1 || one.offsetWidth <= 1) return true;
    }
    return false;
  };
  const tiny = (one) => parseFloat(getComputedStyle(one).fontSize) < 2;
  // Text in the order of the document, without what cannot be seen.
  const seen = (node) => {
    let text = "";
    for (const child of node.childNodes) {
      if (child.nodeType === 3) { if (!tiny(node)) text += child.data; continue; }
      if (child.nodeType !== 1 || SKIP.has(child.tagName)) continue;
      if (child.tagName === "BR") { text += "\n"; continue; }
      if (!child.checkVisibility({ visibilityProperty: true }) || unseen(child)) continue;
      const inner = seen(child);
      text += getComputedStyle(child).display.startsWith("inline") ? inner : ` ${inner} `;
    }
    return text;
  };
  const said = (one) => {
    const hides = tiny(one) || [...one.querySelectorAll("*")].some((inner) => unseen(inner) || tiny(inner));
    let text = hides ? seen(one) : one.innerText;
    for (const inner of one.querySelectorAll(EDITABLE)) {
      if (inner.innerText && isSecret(inner, telling)) text = text.replaceAll(inner.innerText, "********");
    }
    return text;
  };
  const own = (one) => {
    let text = "";
    for (const child of one.childNodes) if (child.nodeType === 3) text += child.data;
    return text.trim() && !tiny(one) ? clean(text) : "";
  };
  const hasBlocks = (one) => {
    for (const child of one.children) {
      shy ||= !inside(child) && hides(child);
      if (SECTIONS.has(child.tagName) || inside(child)) return true;
      if (/^(DIV|UL|OL|TABLE|SECTION|ARTICLE|DL|TBODY|TR|FORM|IFRAME)$/.test(child.tagName)) return true;
    }
    return false;
  };
  // What has a size and says nothing, or was made by the page, may hold a shadow tree.
  const hides = (one) => {
    if (!one.offsetWidth || !one.offsetHeight) return false;
    if (one.localName.includes("-")) return one.matches(":defined");
    return HOSTS.has(one.tagName) && !one.firstElementChild && !one.textContent.trim();
  };
  const walk = (node) => {
    for (const one of node.children) {
      if (SKIP.has(one.tagName) || (one.matches(EDITABLE) && isSecret(one, telling))) continue;
      if (one.checkVisibility && one.tagName !== "BODY" && !one.checkVisibility({ visibilityProperty: true })) {
        if (getComputedStyle(one).display !== "contents") continue;
      }
      if (one.tagName !== "HTML" && one.tagName !== "BODY" && unseen(one)) continue;
      if (one.tagName === "A" && one.href && links.length < 400) {
        const text = clean(said(one)) || clean(one.getAttribute("aria-label"));
        if (text && /^https?:/.test(one.href)) links.push({ text: text.slice(0, 120), href: one.href.slice(0, 500) });
      }
      if (one.tagName === "IMG" && images.length < 100) {
        const src = one.currentSrc || one.src;
        if (/^https?:/.test(src)) images.push({ alt: clean(one.alt).slice(0, 120), src: src.slice(0, 500) });
      }
      const tree = inside(one);
      if (tree) { walk(tree); continue; }
      shy ||= hides(one);
      if (one.tagName === "IFRAME") {
        let inner = null;
        try { inner = one.contentDocument; } catch { inner = null; }
        if (inner && inner.documentElement) walk(inner);
        continue;
      }
      const leaf = !hasBlocks(one);
      if (SECTIONS.has(one.tagName) && leaf) { add(one.tagName, said(one), one); collect(one); continue; }
      if (leaf && own(one)) { add(SECTIONS.has(one.tagName) ? one.tagName : "DIV", said(one), one); collect(one); continue; }
      if (!leaf && own(one)) add(SECTIONS.has(one.tagName) ? one.tagName : "DIV", own(one), one);
      walk(one);
    }
  };
  const collect = (one) => {
    for (const link of one.querySelectorAll("a[href]")) {
      const text = clean(said(link));
      if (text && links.length < 400 && /^https?:/.test(link.href)) links.push({ text: text.slice(0, 120), href: link.href.slice(0, 500) });
    }
    for (const image of one.querySelectorAll("img")) {
      const src = image.currentSrc || image.src;
      if (images.length < 100 && /^https?:/.test(src)) images.push({ alt: clean(image.alt).slice(0, 120), src: src.slice(0, 500) });
    }
  };
  if (document.documentElement) walk(document);
  if (!count && document.body) {
    const text = clean(said(document.body));
    for (let at = 0; at < text.length; at += 400) add("BODY", text.slice(at, at + 400), document.body);
  }
  const metadata = {};
  for (const name of ["description", "author", "keywords", "og:title", "og:type", "og:site_name", "article:published_time"]) {
    const meta = document.querySelector(`meta[name="${name}"],meta[property="${name}"]`);
    if (meta && meta.content) metadata[name] = clean(meta.content).slice(0, 300);
  }
  const canonical = document.querySelector("link[rel=canonical]");
  if (canonical && canonical.href) metadata.canonical = canonical.href.slice(0, 500);
  const language = document.documentElement && document.documentElement.lang;
  if (language) metadata.language = language.slice(0, 40);
  return { title: document.title.slice(0, 500), sections, links, images, metadata, cut: last > part, count, shy };
}
