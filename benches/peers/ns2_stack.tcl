# One kind of ns-2 TCP through one bottleneck; compare_ns2.py compares the results with our presets.
#
#   S ==rate, delay, DropTail==> D, and back at 100 Mbit/s with the same delay
#
# usage: ns ns2_stack.tcl key=value ...
# Prints one JSON line with the results of the flows and of the queue. With trace=FILE, writes a line every `step` seconds:
# time, queue length, drops so far, then cwnd_ and ssthresh_ of each flow.

array set o {
    agent reno  n 1  rate 5e6  delay 0.01  qpkts 50  t 100  stagger 0  psize 1460  window 1000000  iw 2  ts 0
    step 0.01  trace ""  bytes -1  pause 0  extra ""
    peak 0  peaktime 0
}
foreach a $argv {
    if {[regexp {^([a-z]+)=(.*)$} $a -> k v] && [info exists o($k)]} { set o($k) $v } \
    else { puts stderr "bad argument: $a"; exit 2 }
}

set ns [new Simulator]
set s [$ns node]
set d [$ns node]
$ns simplex-link $s $d $o(rate) $o(delay) DropTail
$ns simplex-link $d $s 1e8 $o(delay) DropTail
$ns queue-limit $s $d $o(qpkts)
$ns queue-limit $d $s 1000000
if {$o(peaktime) > 0} {
    [[$ns link $s $d] link] set bandwidth_ $o(peak)
    $ns at $o(peaktime) "[[$ns link $s $d] link] set bandwidth_ $o(rate)"
}
set mon [$ns monitor-queue $s $d "" 1e9]
set integral [$mon get-pkts-integrator]

Agent/TCP set window_ $o(window)
Agent/TCP set windowInit_ $o(iw)
Agent/TCP set packetSize_ $o(psize)
Agent/TCP set timestamps_ $o(ts)
Agent/TCP/FullTcp set segsize_ $o(psize)
foreach {var value} $o(extra) { Agent/TCP set $var $value }

proc flow {i} {
    global ns s d o
    set full 0
    switch $o(agent) {
        reno     { set tcp [new Agent/TCP/Reno];    set sink [new Agent/TCPSink] }
        newreno  { set tcp [new Agent/TCP/Newreno]; set sink [new Agent/TCPSink] }
        sack1    { set tcp [new Agent/TCP/Sack1];   set sink [new Agent/TCPSink/Sack1] }
        cubic    { set tcp [new Agent/TCP/Linux];   set sink [new Agent/TCPSink/Sack1] }
        fullsack { set tcp [new Agent/TCP/FullTcp/Sack]; set sink [new Agent/TCP/FullTcp/Sack]; set full 1 }
        default  { puts stderr "no agent $o(agent)"; exit 2 }
    }
    $tcp set fid_ $i
    $sink set fid_ $i
    $ns attach-agent $s $tcp
    $ns attach-agent $d $sink
    $ns connect $tcp $sink
    if {$full} { $sink listen }
    if {$o(agent) eq "cubic"} { $ns at 0 "$tcp select_ca cubic" }
    return $tcp
}

# Called when a transfer is acknowledged: starts the next one `pause` seconds later, over the same agent.
proc again {tcp} {
    global ns o
    lappend ::done [$ns now]
    if {$o(pause) <= 0} { return }
    # a second `send` is never reported as done, because Tcl cannot reset closed_; `advanceby` resets it
    set more [expr {$o(agent) eq "fullsack" ? "send $o(bytes)" : "advanceby [expr {($o(bytes) + $o(psize) - 1) / $o(psize)}]"}]
    $ns at [expr {[$ns now] + $o(pause)}] "$tcp $more"
}

set done {}
set flows {}
for {set i 0} {$i < $o(n)} {incr i} {
    set tcp [flow $i]
    set at [expr {$o(stagger) * $i}]
    if {$o(bytes) > 0} {
        $tcp proc done {} { again $self }
        $ns at $at "$tcp send $o(bytes)"
    } else {
        set ftp [new Application/FTP]
        $ftp attach-agent $tcp
        $ns at $at "$ftp start"
    }
    lappend flows $tcp
}

set first -1
set most 0
if {$o(trace) ne ""} { set out [open $o(trace) w] }
proc look {} {
    global ns mon o flows first most out
    set now [$ns now]
    set q [$mon set pkts_]
    if {$q > $most} { set most $q }
    if {$first < 0 && [$mon set pdrops_] > 0} { set first $now }
    if {$o(trace) ne ""} {
        set line "$now $q [$mon set pdrops_]"
        foreach f $flows { append line " [$f set cwnd_] [$f set ssthresh_]" }
        puts $out $line
    }
    $ns at [expr {$now + $o(step)}] look
}
$ns at 0 look

proc finish {} {
    global flows mon integral o first most done
    set acked {}; set timeouts {}; set rexmit {}; set cuts {}
    foreach f $flows {
        lappend acked [$f set ack_]
        lappend timeouts [$f set nrexmit_]
        lappend rexmit [$f set nrexmitpack_]
        lappend cuts [$f set ncwndcuts_]
    }
    set mean [expr {([$integral set sum_] + [$integral set lasty_] * ($o(t) - [$integral set lastx_])) / $o(t)}]
    puts "\{\"acked\": \[[join $acked ,]\], \"timeouts\": \[[join $timeouts ,]\], \"retransmits\": \[[join $rexmit ,]\], \
\"cuts\": \[[join $cuts ,]\], \"departures\": [$mon set pdepartures_], \"bytes\": [$mon set bdepartures_], \
\"drops\": [$mon set pdrops_], \"queue_mean\": $mean, \"queue_max\": $most, \"first_drop_s\": $first, \
\"done\": \[[join $done ,]\]\}"
    flush stdout
    exit 0
}
$ns at $o(t) finish
$ns run
