const frames = [...document.querySelectorAll('#frames figure')];
const at = document.getElementById('at');
const play = document.getElementById('play');
let timer = null;
function show(index) {
  at.value = Math.max(0, Math.min(frames.length - 1, index));
  frames.forEach((frame, i) => { frame.hidden = i != at.value; });
}
function stop() {
  clearInterval(timer);
  timer = null;
  play.textContent = 'Play';
}
function step(by) {
  stop();
  show(Number(at.value) + by);
}
document.getElementById('previous').onclick = () => step(-1);
document.getElementById('next').onclick = () => step(1);
at.oninput = () => step(0);
play.onclick = () => {
  if (timer) return stop();
  if (at.value == frames.length - 1) show(0);
  play.textContent = 'Pause';
  timer = setInterval(() => {
    show(Number(at.value) + 1);
    if (at.value == frames.length - 1) stop();
  }, 700);
};
