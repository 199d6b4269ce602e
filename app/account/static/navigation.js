// The views of the page, named by the fragment of its URL.

import { page } from "../../ostiary/static/page.js";
import { html, useEffect, useRef, useState } from "../../ostiary/static/view.js";

/** Return the name of the view in the URL. */
export function useView() {
  const [view, setView] = useState(nameInAddress);
  useEffect(() => {
    const follow = () => setView(nameInAddress());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return view;
}

/** Set the title of the document; the heading of a newly shown view gets the focus. */
export function useTitle(title, heading) {
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${title} - ${page.service}`;
    if (!isFirst.current) {
      heading?.current?.focus();
    }
    isFirst.current = false;
  }, [title]);
}

/** The name of the service, and buttons beside it. */
export function Bar({ children }) {
  const icon = new URL("../../ostiary/static/favicon.svg", import.meta.url);
  return html`<header class="bar">
    <p class="brand"><img src=${icon} alt="" width="28" height="28" /> ${page.service}</p>
    ${children}
  </header>`;
}

function nameInAddress() {
  return location.hash.slice(1);
}
