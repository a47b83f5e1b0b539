// The tour and the questions for a class. Each step has an experiment, its explanation, and what to look at.

import type { Tree } from "./types";

export interface Lesson {
  title: string;
  text: string;
  /** What the run shows. `{name}` is a number of the run, `{before.name}` of the one before (facts.ts). In the class: what to do. */
  look: string;
  /** What to try next. */
  task?: string;
  scenario: Tree;
  /** Compare with the scenario of the step before. */
  compare: boolean;
}

const HOME_RTT = { up: "10ms", down: "10ms" };

/** A home with 5 Mbit/s upstream, a call and some uploads. */
function home(queue: Tree, uploads = 1, more: Tree = {}): Tree {
  const app: Tree = {
    call: { from: "home", to: ["internet"], traffic: { voip: {} } },
    ...(uploads > 0 ? { upload: { from: "home", to: ["internet"], start: "5s", traffic: { ftp: { flows: uploads } } } } : {}),
    ...more,
  };
  return {
    name: "home", duration: "40s",
    link: {
      up: { from: "home", to: "internet", rate: "5mbit", delay: HOME_RTT.up, queue },
      down: { from: "internet", to: "home", rate: "50mbit", delay: HOME_RTT.down },
    },
    app,
  };
}

const pages: Tree = { pages: { from: "home", to: ["internet"], traffic: { web: { servers: 1, page: { uniform: { per_server: 100 } } } } } };
const LARGE: Tree = { droptail: { limit: "400p" } };

export const TOUR: Lesson[] = [
  { title: "An idle link", scenario: home(LARGE, 0), compare: false,
    text: "A home has 5 Mbit/s upstream. One call runs and nothing else. Its packets find the queue empty and leave at once.",
    look: "The longest wait is {worst}. The call reaches MOS {mos} ({verdict})." },
  { title: "What a buffer does", scenario: home({ droptail: { limit: "17p" } }), compare: false,
    text: "At second 5 an upload starts. TCP sends faster until a packet is lost. The buffer holds packets that arrive faster than the link can send, so the link stays busy while TCP recovers. This one holds 17 packets, two bandwidth-delay products (BDP, the mark below the slider).",
    look: "From second 10 on, packets wait {low} to {high} on average. The upload gets {upload}." },
  { title: "Why it bloats", scenario: home(LARGE), compare: true,
    text: "The same upload, with a buffer of 400 packets. TCP fills any drop-tail buffer: only a loss slows it down, and a large buffer loses packets late.",
    look: "The upload is no faster: {upload} now, {before.upload} before. Packets now wait {low} to {high}, and the call falls from MOS {before.mos} to {mos} ({verdict}).",
    task: "Move the buffer slider and watch the delay and the call." },
  { title: "A smaller buffer", scenario: home({ droptail: { limit: "8p" } }), compare: true,
    text: "Eight packets are one BDP of this link. But the size fits only this rate and this round-trip time (RTT). With a longer RTT the queue runs empty while TCP recovers. At a lower rate the same packets take longer to send.",
    look: "The longest wait is {worst}, and the upload still gets {upload}.",
    task: "Set the RTT to 100 ms: the upload gets less. Then set the rate to 500 kbit/s: packets wait longer again." },
  { title: "What CoDel does", scenario: home({ codel: { limit: "400p" } }), compare: false,
    text: "CoDel measures how long packets wait. If every packet waits longer than 5 ms for 100 ms, CoDel drops one, then drops more often, until TCP slows down. The buffer stays large for bursts; the standing queue disappears.",
    look: "From second 10 on, packets wait {low} to {high} on average. The peak of {worst} is the start of the upload: CoDel lets a short burst pass. The call reaches MOS {mos} ({verdict}).",
    task: "Double the rate, then the buffer: the delay stays low." },
  { title: "What a queue per flow does", scenario: home({ fq_codel: {} }, 4, pages), compare: false,
    text: "fq_codel gives each flow its own queue, serves the queues in turn, and runs CoDel in each. A call sends little, so it does not wait behind uploads that send much. Here four uploads run, and someone loads pages.",
    look: "The call reaches MOS {mos} ({verdict}); a page loads in {page}.",
    task: "Pin this run, then choose codel. Which applications get worse?" },
];

export const CLASS: Lesson[] = [
  { title: "How large should a buffer be?", scenario: home({ droptail: { limit: "100p" } }), compare: false,
    text: "Find the smallest drop-tail buffer with which one upload still gets 95 % of its best rate. Do it for RTTs of 10, 50 and 200 ms.",
    look: "Plot the three sizes against the BDP mark. Then give the upload 8 flows and find the smallest buffer again. Appenzeller, Keslassy and McKeown (2004) explain why it shrinks." },
  { title: "Who loses?", scenario: home(LARGE, 1, pages), compare: false,
    text: "An upload, a call and web pages share a bloated uplink. Pages arrive over an idle downlink. Why do they take so long?",
    look: "Requests and ACKs use the uplink. Which discipline helps the pages most, and which the call?" },
  { title: "Delay-based and loss-based TCP", scenario: { ...home(LARGE), tcp: {}, app: { call: { from: "home", to: ["internet"], traffic: { voip: {} } }, upload: { from: "home", to: ["internet"], start: "5s", tcp: "bbr", traffic: { ftp: {} } } } }, compare: false,
    text: "BBR aims at one bandwidth-delay product in flight instead of a full buffer. What is the delay with BBR alone? Add an upload with CUBIC. Which of them gets the link, and what is the delay now?",
    look: "Set the TCP of each application under its parameters. Then try fq_codel." },
  { title: "Is a grade enough?", scenario: home({ pie: { limit: "400p" } }, 4), compare: false,
    text: "Public speed tests grade a link by the delay that load adds. Find two settings with the same grade and a different MOS.",
    look: "Losses lower the MOS but do not change the grade." },
  { title: "The cable modem", compare: false,
    text: "This modem may send 10 MB at up to 20 Mbit/s; then it is limited to 5 Mbit/s. When does the delay rise, and why not at once?",
    look: "At which second is the burst used up? Calculate it, then change max traffic burst and check.",
    scenario: {
      name: "modem", duration: "40s",
      link: {
        up: { from: "home", to: "internet", rate: "100mbit", delay: "10ms", queue: { droptail: { limit: "417p" } },
          docsis: { flow: { max_sustained_rate: "5mbit", max_traffic_burst: "10MB", peak_traffic_rate: "20mbit", peak_burst: "1522B" } } },
        down: { from: "internet", to: "home", rate: "50mbit", delay: "10ms" },
      },
      app: {
        call: { from: "home", to: ["internet"], traffic: { voip: {} } },
        upload: { from: "home", to: ["internet"], start: "5s", traffic: { ftp: { flows: 2 } } },
      },
    } },
];

/** The scenario that the page opens with. */
export const FIRST: Tree = home({ droptail: { limit: "250p" } });
