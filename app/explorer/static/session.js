// The session of the page. The token is kept in the page's memory only.

const page = document.body.dataset;
const element = (id) => document.getElementById(id);
const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

let current = null;
let changed = () => {};

/** Return the session: token, email, userId and when it expires; null when logged out. */
export function session() {
  return current;
}

/** Register a callback for every login and logout. */
export function watchSession(callback) {
  changed = callback;
}

/** Begin a session with the response of a login. */
export function begin(answer, email) {
  const expires = Date.now() + answer.ttl * 1000;
  current = { token: answer.id, userId: answer.userId, email, expires };
  show();
}

/** Update the page after a response that ended the session or created a user. */
export function noticeAnswer(response) {
  const path = new URL(response.url, location.href).pathname;
  if (path === page.logout && response.status === 204) {
    end();
  }
  if (path === page.register && response.status === 200 && response.body?.email) {
    element("login").elements.email.value = response.body.email;
  }
}

async function logOut() {
  const headers = { Authorization: current.token };
  if (page.logout) {
    await fetch(page.logout, { method: "POST", headers, credentials: "omit" });
  }
  end();
}

function end(reason = "") {
  current = null;
  show();
  element("login").querySelector(".problem").textContent = reason;
}

function show() {
  element("account").hidden = Boolean(current);
  element("session").hidden = !current;
  element("who").textContent = current?.email ?? "";
  tick();
  changed();
}

function tick() {
  if (!current) {
    return;
  }
  const seconds = Math.ceil((current.expires - Date.now()) / 1000);
  if (seconds <= 0) {
    end("The access token has expired: log in again.");
  } else {
    element("left").textContent = inWords(seconds);
  }
}

/** Write a duration with its two largest units: `13 d 23 h`. */
function inWords(seconds) {
  const first = UNITS.findIndex(([, size]) => seconds >= size);
  return UNITS.slice(first, first + 2)
    .map(([name, size], place) => {
      const whole = place ? seconds % UNITS[first][1] : seconds;
      return `${Math.floor(whole / size)} ${name}`;
    })
    .join(" ");
}

element("logout").addEventListener("click", logOut);
setInterval(tick, 1000);
