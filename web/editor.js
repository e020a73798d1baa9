// The editors of text fields, which stay what the form sends: of Rego, <textarea data-check="PATH" data-paths="input.tool …">,
// and of JSON, a field that json.js hands over.
import { acceptCompletion, autocompletion, closeBrackets } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { HighlightStyle, bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, linter } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

import { rego } from "./rego.js";

const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--sunken)", fontSize: "var(--t13)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-content, .cm-gutters": { fontFamily: "var(--mono)", lineHeight: "22px" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--muted)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-quiet)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--border)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-fill)", color: "var(--accent-ink)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--failed)" },
  // CodeMirror's own markers are images in data: addresses.
  ".cm-lint-marker": { width: "8px", height: "8px", margin: "7px auto", borderRadius: "50%" },
  ".cm-lint-marker-error": { content: "none", backgroundColor: "var(--failed)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--failed) 1px" },
});

const colors = HighlightStyle.define([
  { tag: tags.keyword, fontWeight: "700" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: tags.string, color: "var(--accent)" },
  { tag: [tags.number, tags.atom], color: "var(--text)", fontWeight: "500" },
]);

function completion(paths) {
  const options = paths.map((label) => ({ label, type: "property" }));
  return (context) => {
    const word = context.matchBefore(/\binput[\w.]*/);
    return word ? { from: word.from, options, validFor: /^[\w.]*$/ } : null;
  };
}

// A browser that types over a selection of several lines writes style attributes to keep their looks, which the
// Content-Security-Policy refuses and reports: here the editor replaces the selection itself.
const typedOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== "insertText" || event.data === null || view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    event.preventDefault();
    return true;
  },
});

// What the valid draft would change of recorded calls: asked for when the typing has paused, since each answer takes a
// process of its own.
let pause;
function later(then) {
  clearTimeout(pause);
  pause = setTimeout(then, 1500);
}
async function showEffect(textarea) {
  const body = new URLSearchParams(new FormData(textarea.form));
  body.set("effect", "yes");
  const asked = textarea.value;
  const answer = await fetch(textarea.dataset.check, { method: "POST", body }).catch(() => null);
  const { effect } = answer?.ok ? await answer.json() : {};
  if (textarea.value === asked) document.getElementById("effect").textContent = effect ?? "";
}

function checks(textarea) {
  return async (view) => {
    const body = new URLSearchParams(new FormData(textarea.form));
    body.set("rego_policy", view.state.doc.toString());
    const answer = await fetch(textarea.dataset.check, { method: "POST", body }).catch(() => null);
    if (!answer?.ok) return [];
    const { message, line, column } = await answer.json();
    if (!message) {
      later(() => showEffect(textarea));
      return [];
    }
    const at = view.state.doc.line(Math.min(Math.max(line ?? 1, 1), view.state.doc.lines));
    const from = Math.min(at.from + Math.max((column ?? 1) - 1, 0), at.to);
    return [{ from, to: Math.max(from, at.to), severity: "error", message }];
  };
}

// In a shadow root CodeMirror makes its styles as constructed sheets, which the Content-Security-Policy permits; in the
// document it would write a style element.
function editor(textarea, label, extensions) {
  const host = document.createElement("div");
  host.className = "editor-host";
  const root = host.attachShadow({ mode: "open" });
  const view = new EditorView({
    doc: textarea.value,
    root,
    parent: root,
    extensions: [
      lineNumbers(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), lintGutter(),
      theme, syntaxHighlighting(colors), ...extensions, keymap.of([...defaultKeymap, ...historyKeymap]),
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }), typedOver,
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        clearTimeout(pause);
        textarea.value = view.state.doc.toString();
      }),
    ],
  });
  textarea.hidden = true;
  textarea.after(host);
  return view;
}

// Tab leaves this editor, as it leaves the field.
export function editJson(textarea) {
  const { selectionStart, selectionEnd, rows } = textarea;
  const hadFocus = document.activeElement === textarea;
  const height = EditorView.theme({ "&": { maxHeight: "70vh" }, ".cm-content": { minHeight: `${rows * 22}px` }, ".cm-scroller": { overflow: "auto" } });
  const label = textarea.labels[0]?.querySelector("span")?.textContent ?? textarea.name;
  const parsed = jsonParseLinter();
  const problems = linter((view) => (view.state.doc.toString().trim() ? parsed(view) : []), { delay: 400 });
  const view = editor(textarea, label, [json(), problems, highlightSpecialChars(), EditorView.lineWrapping, indentUnit.of("  "), height]);
  // A field counts a line break as one character, too (HTML, section 4.10.11, "API value").
  view.dispatch({ selection: { anchor: selectionStart, head: selectionEnd } });
  if (hadFocus) view.focus();
}

for (const textarea of document.querySelectorAll("textarea[data-check]")) {
  const view = editor(textarea, "Rego", [
    closeBrackets(), rego, indentUnit.of("\t"), EditorState.tabSize.of(4),
    autocompletion({ override: [completion(textarea.dataset.paths.split(" "))] }),
    linter(checks(textarea), { delay: 700 }),
    // Tab leaves the editor after Escape (https://codemirror.net/examples/tab/).
    keymap.of([{ key: "Tab", run: acceptCompletion }, indentWithTab]),
  ]);
  const line = Number(textarea.dataset.line);
  if (line > 0 && line <= view.state.doc.lines) view.dispatch({ selection: { anchor: view.state.doc.line(line).from }, scrollIntoView: true });
}
