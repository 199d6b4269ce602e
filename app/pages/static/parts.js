// Parts of pages: forms, fields, dialogs, notices, times.

import { session, watchSession } from "./session.js";
import { html, useCallback, useEffect, useId, useRef, useState } from "./view.js";

let showNotice = () => {};

/** Show what was done; it is read aloud, and disappears after some seconds or at the next click. */
export function notify(text) {
  showNotice({ text });
}

/** Show what went wrong; it stays until it is dismissed or replaced. */
export function notifyProblem(text) {
  showNotice({ text, isProblem: true });
}

/** The place of notices; one in a page. */
export function Notices() {
  const [{ text, isProblem }, setNotice] = useState({ text: "" });
  const clear = () => setNotice({ text: "" });
  useEffect(() => {
    showNotice = setNotice;
  }, []);
  useEffect(() => {
    if (!text || isProblem) {
      return undefined;
    }
    const timer = setTimeout(clear, 6000);
    // A user who goes on has read it, and needs to see what it covers.
    addEventListener("click", clear, true);
    return () => {
      clearTimeout(timer);
      removeEventListener("click", clear, true);
    };
  }, [text, isProblem]);
  // The region must exist before its text, which would otherwise not be read aloud.
  return html`<div role="status">
    ${text &&
    html`<p class="notice">
      ${text} ${isProblem && html`<button type="button" onClick=${clear}>Dismiss</button>`}
    </p>`}
  </div>`;
}

/** Return the session; the component is rendered again at every login and logout. */
export function useSession() {
  const [current, setCurrent] = useState(session);
  useEffect(() => watchSession(() => setCurrent(session())), []);
  return current;
}

/** Return a call's result as `{value, problem, isLoading, reload}`; repeated if `inputs` change. */
export function useCall(fetcher, inputs) {
  const [state, setState] = useState({ value: null, problem: null, isLoading: true });
  const newest = useRef(0);
  const load = useCallback(async () => {
    const mine = (newest.current += 1);
    setState((before) => ({ ...before, isLoading: true }));
    const after = await fetcher().then(
      (value) => ({ value, problem: null }),
      (problem) => ({ value: null, problem }),
    );
    // A response that a newer call has overtaken is not shown.
    if (mine === newest.current) {
      setState({ ...after, isLoading: false });
    }
  }, inputs);
  useEffect(() => {
    load();
    return () => (newest.current += 1);
  }, [load]);
  return { ...state, reload: load };
}

/** The result of `useCall`, rendered by `children`; or that it is loading, or its error. */
export function Loaded({ of: { value, problem, reload }, children }) {
  if (problem) {
    return html`<${Problem} problem=${problem} /><${Action} onClick=${reload}>Try again<//>`;
  }
  return value ? children(value) : html`<p class="muted" role="status">Loading …</p>`;
}

/** A part of a page with a heading of its own. */
export function Card({ title, children }) {
  const id = useId();
  return html`<section class="card" aria-labelledby=${id}>
    <h2 id=${id}>${title}</h2>
    ${children}
  </section>`;
}

/** An error's message, except for the parts shown at the fields of its form. */
export function Problem({ problem, fields = [] }) {
  const element = useRef();
  useEffect(() => {
    if (problem && !fields.some((name) => problem.fields?.[name])) {
      element.current?.focus();
    }
  }, [problem]);
  if (!problem) {
    return null;
  }
  const named = Object.entries(problem.fields ?? {});
  const others = named.filter(([name]) => !fields.includes(name));
  const rest = others.map(([name, texts]) => `${name} ${texts.join(", ")}`);
  if (named.length && !rest.length) {
    return null;
  }
  const text = asSentence(rest.length ? rest.join("; ") : problem.message);
  return html`<p class="problem" role="alert" tabindex="-1" ref=${element}>${text}</p>`;
}

function asSentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1).replace(/[^.!?]$/, "$&.");
}

/** A label, its input, a hint and the error of the field; `children` are other inputs. */
export function Field({ label, name, problem, hint, children, ...input }) {
  const id = useId();
  const texts = problem?.fields?.[name];
  const described = [hint && `${id}-hint`, texts && `${id}-problem`].filter(Boolean).join(" ");
  const shared = { id, name, "aria-describedby": described || undefined, "aria-invalid": texts && "true" };
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${children ? children(shared) : html`<input ...${shared} ...${input} />`}
    ${hint && html`<small id="${id}-hint">${hint}</small>`}
    ${texts && html`<small id="${id}-problem" class="problem" role="alert">${label} ${texts.join(", ")}</small>`}
  </div>`;
}

/**
 * A form: calls `onSubmit` with its values, shows errors, and is busy meanwhile.
 *
 * The second argument of `onSubmit` is the element, for files.
 *
 * `children` is a function of the problem, for the fields; `look` is the class of the button. With
 * `isEmptied`, the form is emptied afterwards.
 */
export function Form(properties) {
  const { onSubmit, children, label, submit, fields = [], actions, look = "strong", isEmptied } = properties;
  const [problem, setProblem] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const form = useRef();
  useEffect(() => {
    form.current?.querySelector("[aria-invalid]")?.focus();
  }, [problem]);
  const send = async (event) => {
    event.preventDefault();
    if (isBusy) {
      return;
    }
    setBusy(true);
    setProblem(null);
    const filled = event.currentTarget;
    try {
      await onSubmit(Object.fromEntries(new FormData(filled)), filled);
      if (isEmptied) {
        filled.reset();
      }
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return html`<form ref=${form} aria-label=${label} onSubmit=${send}>
    <${Problem} problem=${problem} fields=${fields} />
    ${children?.(problem)}
    <div class="buttons">
      <button class=${look} aria-disabled=${isBusy}>${submit}</button>
      ${actions}
    </div>
  </form>`;
}

/** A button that calls the service: it is busy meanwhile, and shows errors. */
export function Action({ onClick, children, className = "", ...rest }) {
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    if (isBusy) {
      return;
    }
    setBusy(true);
    try {
      await onClick();
    } catch (error) {
      notifyProblem(asSentence(error.message));
    } finally {
      setBusy(false);
    }
  };
  return html`<button type="button" class=${className} aria-disabled=${isBusy} onClick=${run} ...${rest}>
    ${children}
  </button>`;
}

/** A modal dialog; Escape calls `onClose`. The focus returns to where it was. */
export function Dialog({ title, onClose, children }) {
  const dialog = useRef();
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    // While the dialog is open, nothing else can have the focus.
    return () => queueMicrotask(() => before?.isConnected && before.focus());
  }, []);
  return html`<dialog ref=${dialog} aria-labelledby=${id} onClose=${onClose}>
    <h2 id=${id}>${title}</h2>
    ${children}
  </dialog>`;
}

/** A time, in the language and zone of the reader, with the exact one as its title. */
export function Time({ value, none = "never", hasSeconds }) {
  if (!value) {
    return html`<span class="muted">${none}</span>`;
  }
  const text = new Date(value).toLocaleString(undefined, { dateStyle: "medium", timeStyle: hasSeconds ? "medium" : "short" });
  return html`<time datetime=${value} title=${value}>${text.replace(/ (?=[AP]M$)/, "\u00a0")}</time>`;
}

/** A button that copies a text, and says for a moment that it did. */
export function CopyButton({ text, children = "Copy" }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    const timer = isCopied && setTimeout(() => setCopied(false), 3000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return html`<${Action} onClick=${copy}>
    ${isCopied ? "Copied" : children}<span class="hidden" role="status">${isCopied && "Copied"}</span>
  <//>`;
}

/** Offer a text or a downloaded file to be saved. */
export function save(name, content, type = content.type ?? "text/plain") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
