// The tour, and questions for a class. Each step is an experiment: what differs from a home uplink, and what to look at.

import type { Tree } from "./types";

export interface Lesson {
  title: string;
  text: string;
  /** What to look at or to try. */
  look: string;
  scenario: Tree;
  /** Compare with the scenario of the step before. */
  compare: boolean;
}

const HOME_RTT = { up: "10ms", down: "10ms" };

/** A home that uploads over 5 Mbit/s while somebody calls. */
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
    text: "A home with 5 Mbit/s upstream. Somebody talks; nobody else sends. Packets of the call find the queue empty and leave at once.",
    look: "The queue's delay is below a millisecond and the call is as good as it gets." },
  { title: "What a buffer does", scenario: home({ droptail: { limit: "17p" } }), compare: false,
    text: "From second 5 on a file is uploaded. TCP sends faster until a packet is lost. A buffer holds what comes faster than the link can send, so that the link stays busy while TCP recovers. One bandwidth-delay product, the mark at the slider, is enough for one transfer.",
    look: "The upload fills the link; the delay swings between nothing and the 40 ms that the buffer holds." },
  { title: "Why it bloats", scenario: home(LARGE), compare: true,
    text: "The same upload with a buffer of 400 packets, as many modems have. TCP fills any buffer, because a full buffer loses nothing and only loss slows TCP down. The upload is no faster. Every other packet now waits for most of a second.",
    look: "The delay rises to almost a second and the call is worth little. Move the buffer's slider and watch both." },
  { title: "A smaller buffer", scenario: home({ droptail: { limit: "8p" } }), compare: true,
    text: "Eight packets are one bandwidth-delay product of this link. The delay stays short and the upload gets as much as before. But the size fits only this rate and this round trip: over a longer way the queue runs empty while TCP recovers, and at a lower rate the same packets take longer.",
    look: "Move the RTT to 100 ms: the upload gets less. Then set the rate to 500 kbit/s: eight packets are now a long wait." },
  { title: "What CoDel does", scenario: home({ codel: { limit: "400p" } }), compare: false,
    text: "CoDel measures how long packets wait. If all of them have waited longer than 5 ms for 100 ms, it drops one, then more often, until TCP slows down. The buffer stays large for bursts; the standing queue goes.",
    look: "The delay stays low at any rate and buffer: move both. The peak when the upload begins is the burst that CoDel lets pass." },
  { title: "What a queue per flow does", scenario: home({ fq_codel: {} }, 4, pages), compare: false,
    text: "fq_codel gives each flow a queue of its own and serves them in turn, each with CoDel. A call that sends little never waits behind a transfer that sends much, even with four uploads and somebody who reads pages.",
    look: "Pin this run, then choose codel: which of the people behind the link notice?" },
];

export const CLASS: Lesson[] = [
  { title: "How large should a buffer be?", scenario: home({ droptail: { limit: "100p" } }), compare: false,
    text: "Find the smallest drop-tail buffer with which one upload still gets 95 % of its best rate. Do it for RTTs of 10, 50 and 200 ms.",
    look: "Plot your three sizes over the mark BDP. Then give the upload 8 flows and look for the smallest buffer again (Appenzeller, Keslassy and McKeown 2004 say why it shrinks)." },
  { title: "Who loses?", scenario: home(LARGE, 1, pages), compare: false,
    text: "Upload, call and pages share a bloated uplink. Pages come down an idle link: why do they take so long?",
    look: "Requests and ACKs go up. Which discipline helps pages most, and which the call?" },
  { title: "Delay-based and loss-based TCP", scenario: { ...home(LARGE), tcp: {}, app: { call: { from: "home", to: ["internet"], traffic: { voip: {} } }, upload: { from: "home", to: ["internet"], start: "5s", tcp: "bbr", traffic: { ftp: {} } } } }, compare: false,
    text: "BBR aims at the bandwidth-delay product instead of a full buffer. What is the delay with BBR alone? Add an upload with CUBIC beside it: who gets the link, and who the delay?",
    look: "Set the TCP of each application in its parameters. Then try fq_codel." },
  { title: "Is a grade enough?", scenario: home({ pie: { limit: "400p" } }, 4), compare: false,
    text: "Public tests grade a link by the delay that load adds. Find two settings with the same grade and different MOS.",
    look: "Losses count for the call, and for a grade they do not." },
  { title: "The cable modem", compare: false,
    text: "A modem may send 10 MB at 20 Mbit/s before it is held to 5 Mbit/s. When does the delay rise, and why not at once?",
    look: "At which second is the burst used up? Change max traffic burst and check your answer with arithmetic.",
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

/** What the page opens with. */
export const FIRST: Tree = home({ droptail: { limit: "250p" } });
