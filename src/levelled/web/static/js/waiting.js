// The line about labels that wait because somebody has had earlier items for long; an analyst can free these.

import { apiOf, isAnalyst, post } from "./api.js";
import { byId, make } from "./dom.js";

/** Show what the server says of them; `freed` is called once they are free. */
export function showWaiting(waiting, freed) {
  const line = byId("waiting");
  line.hidden = !waiting;
  if (!waiting || line.dataset.text === waiting.text) return;
  line.dataset.text = waiting.text;
  const canFree = isAnalyst && waiting.draws.length;
  line.replaceChildren(`${waiting.text}. `, canFree ? make("button", { type: "button", on: { click: free } }, "Free them") : "");

  async function free() {
    try {
      await post(apiOf("/return"), { draws: waiting.draws, everyone: true });
      freed();
    } catch (refused) {
      line.append(` ${refused.message}`);
    }
  }
}
