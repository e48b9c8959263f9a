(function(){"use strict";
var root=document.documentElement,toggle=document.querySelector(".theme");
toggle.hidden=false;
function dark(){return root.dataset.theme?root.dataset.theme==="dark":matchMedia("(prefers-color-scheme: dark)").matches}
function name(){toggle.textContent=dark()?"Light":"Dark"}
toggle.addEventListener("click",function(){root.dataset.theme=dark()?"light":"dark";name()});name();
addEventListener("beforeprint",function(){document.querySelectorAll("details").forEach(function(d){d.open=true})});
document.querySelectorAll("table:not(.fixed)").forEach(function(table){
if(table.tBodies.length!==1||table.tBodies[0].rows.length<3)return;
table.querySelectorAll("thead th").forEach(function(th){
if(!th.textContent)return;
var label=th.textContent,button=document.createElement("button");
button.type="button";button.textContent=label;th.textContent="";th.appendChild(button);
button.addEventListener("click",function(){
var row=th.parentNode,at=Array.prototype.indexOf.call(row.children,th),body=table.tBodies[0];
var up=th.getAttribute("aria-sort")!=="ascending";
Array.prototype.forEach.call(row.children,function(o){o.removeAttribute("aria-sort")});
th.setAttribute("aria-sort",up?"ascending":"descending");
function key(tr){var c=tr.children[at],g=c.querySelector("svg"),v=c.dataset.v||(g?g.getAttribute("aria-label"):c.textContent.trim()),n=parseFloat(v);return isNaN(n)?v:n}
Array.from(body.rows).sort(function(a,b){var x=key(a),y=key(b);
var d=typeof x===typeof y?(x<y?-1:x>y?1:0):(typeof x==="number"?-1:1);return up?d:-d}).forEach(function(r){body.appendChild(r)});
});});});
})();
