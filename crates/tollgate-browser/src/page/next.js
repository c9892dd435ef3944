(selector, itemSelector, longest) => {
  const clean = (text) => (text || "").replace(/\s+/g, " ").trim();
  const WORDS = /^(next|next page|older|older posts|more|load more|show more|see more|view more|mehr laden|mehr anzeigen|voir plus|cargar más|carica altro|加载更多|查看更多|もっと見る|더 보기|weiter|nächste|nächste seite|suivant|page suivante|siguiente|página siguiente|próxima|próximo|avanti|successivo|volgende|下一页|下页|下一頁|次へ|次のページ|다음|далее|следующая)$/i;
  const ARROWS = /^[\s>›»→⟩❯]+$/u;
  const isOff = (one) =>
    one.matches("[disabled],[aria-disabled=true],.disabled") || !!one.closest("[aria-disabled=true],li.disabled");
  const here = location.href.split("#")[0];
  const leads = (one) => {
    const link = one.matches("a[href],link[href],area[href]") ? one : one.closest("a[href]") || one.querySelector("a[href]");
    if (!link || isOff(one) || isOff(link)) return null;
    let url;
    try { url = new URL(link.getAttribute("href"), document.baseURI); } catch { return null; }
    if (url.protocol !== "http:" && url.protocol !== "https:" && url.protocol !== "file:") return null;
    url.hash = "";
    return url.href === here ? null : url.href;
  };
  // A link that only does something is a button.
  const acts = (one) => /^\s*(#|javascript:|$)/i.test(one.getAttribute("href") ?? "#");
  const bare = (one) => clean(one.textContent).replace(/[\s>›»→⟩❯]+$/u, "").trim();
  const named = (one) =>
    [one.getAttribute("aria-label"), one.getAttribute("title"), bare(one)].some((it) => it && WORDS.test(clean(it))) ||
    ARROWS.test(clean(one.textContent));
  const found = { url: null, button: false, items: [] };
  if (selector) {
    const one = document.querySelector(selector);
    if (one && one.checkVisibility({ visibilityProperty: true })) {
      found.url = leads(one);
      found.button = !found.url && !isOff(one) && (one.matches("button,[role=button],input") || (one.localName === "a" && acts(one)));
    }
  } else {
    for (const one of document.querySelectorAll("link[rel~=next i],a[rel~=next i],area[rel~=next i]")) {
      found.url ??= leads(one);
    }
    if (!found.url) {
      const all = [...document.querySelectorAll("a[href],a[onclick],button,[role=button],input[type=button],input[type=submit]")];
      const seen = all.filter((one) => one.checkVisibility({ visibilityProperty: true }) && named(one) && !isOff(one));
      // The last of several is the one below the list.
      for (const one of seen.reverse()) {
        if (one.matches("a[href]") && !acts(one)) found.url ??= leads(one);
        else found.button = true;
      }
      if (found.url) found.button = false;
    }
  }
  if (itemSelector) {
    for (const one of document.querySelectorAll(itemSelector)) {
      if (found.items.length >= 1000) break;
      const link = one.matches("a[href]") ? one : one.querySelector("a[href]");
      const item = { text: clean(one.innerText).slice(0, longest) };
      if (link) item.href = link.href;
      found.items.push(item);
    }
  }
  return found;
}
