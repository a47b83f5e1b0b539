# Web pages over ns-2's FullTcp/Sack beside endless transfers over Agent/TCP/Linux CUBIC, on a plain access link.
#
#   home ==up: rate, DropTail==> isp --9 ms-- ftp        the page of CableLabs 2012: html from server 1, then 6 connections
#        <==down: 50 Mbit/s===       --9, 14, 24, 49 ms-- web1..4      to each of 4 servers, 25 objects each, 5 s between pages
#
# usage: ns ns2_page.tcl key=value ...
# One JSON line: page load times, number of connections opened, packets and bytes that left the uplink's queue, its
# drops and mean length, and the packets acknowledged and the timeouts of each endless transfer.

array set o {
    rate 5e6  delay 0.001  qpkts 21  t 600  ftp 0  ftpdelay 0.009  iw 2  nagle 1  delack 0.1  get 100  html 100000
    size 25000  each 25  conns 6  order server  quota retrieved  eof 0  think 5  webstart 1  verbose 0  tick 0.01
    downrate 5e7  syns 40
}
foreach a $argv {
    if {[regexp {^([a-z]+)=(.*)$} $a -> k v] && [info exists o($k)]} { set o($k) $v } \
    else { puts stderr "bad argument: $a"; exit 2 }
}

set ns [new Simulator]
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ $o(iw)
Agent/TCP set packetSize_ 1460
Agent/TCP set timestamps_ true
Agent/TCP set tcpTick_ $o(tick)
Agent/TCP/FullTcp set segsize_ 1460
Agent/TCP/FullTcp set nodelay_ [expr {!$o(nagle)}]
Agent/TCP/FullTcp set interval_ $o(delack)

set home [$ns node]
set isp [$ns node]
$ns simplex-link $home $isp $o(rate) $o(delay) DropTail
$ns simplex-link $isp $home $o(downrate) $o(delay) DropTail
$ns queue-limit $home $isp $o(qpkts)
$ns queue-limit $isp $home 100000
set servers {}
foreach ms {9 14 24 49} {
    set node [$ns node]
    $ns duplex-link $isp $node 1Gb ${ms}ms DropTail
    $ns queue-limit $isp $node 100000
    $ns queue-limit $node $isp 100000
    lappend servers $node
}
set ftpnode [$ns node]
$ns duplex-link $isp $ftpnode 1Gb $o(ftpdelay) DropTail
$ns queue-limit $isp $ftpnode 100000
$ns queue-limit $ftpnode $isp 100000
set mon [$ns monitor-queue $home $isp "" 1e9]
set integral [$mon get-pkts-integrator]

set bulk {}
for {set i 0} {$i < $o(ftp)} {incr i} {
    set tcp [new Agent/TCP/Linux]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $home $tcp
    $ns attach-agent $ftpnode $sink
    $ns connect $tcp $sink
    $ns at 0 "$tcp select_ca cubic"
    set app [new Application/FTP]
    $app attach-agent $tcp
    $ns at [expr {0.01 * $i}] "$app start"
    lappend bulk $tcp
}

# --------------------------------------------------------------------------- one object over one connection
Class Get -superclass Application
Class Serve -superclass Application

# the client has received part of the object
Get instproc recv {bytes} {
    $self instvar left server tcp over
    incr left -$bytes
    if {$left <= 0 && !$over} {
        set over 1
        fetched $server
        if {!$::o(eof)} { $tcp close }
    }
}
# the server has received part of the request
Serve instproc recv {bytes} {
    $self instvar left size tcp
    if {$left > 0} {
        incr left -$bytes
        if {$left <= 0} { if {$::o(eof)} { $tcp sendmsg $size MSG_EOF } else { $tcp sendmsg $size "" } }
    }
}

proc get {server size} {
    global ns home servers o opened
    incr opened
    set a [new Agent/TCP/FullTcp/Sack]
    set b [new Agent/TCP/FullTcp/Sack]
    $ns attach-agent $home $a
    $ns attach-agent [lindex $servers $server] $b
    $ns connect $a $b
    $b listen
    set client [new Get]
    $client set left $size
    $client set server $server
    $client set over 0
    $client set tcp $a
    $client attach-agent $a
    $client start
    set end [new Serve]
    $end set left $o(get)
    $end set size $size
    $end set tcp $b
    $end attach-agent $b
    $end start
    $a sendmsg $o(get) ""
    lappend ::watched $a
}

# --------------------------------------------------------------------------- pages
set loads {}
set watched {}
set opened 0
set phase think

proc page {} {
    global ns o phase began asked done
    set phase html
    set began [$ns now]
    for {set s 0} {$s < 4} {incr s} { set asked($s) 0; set done($s) 0 }
    get 0 $o(html)
}
proc more {s} {
    global o asked done
    if {$o(quota) eq "retrieved" ? $done($s) < $o(each) : $asked($s) < $o(each)} {
        incr asked($s)
        get $s $o(size)
    }
}
proc fetched {s} {
    global ns o phase began done loads
    if {$phase eq "html"} {
        set phase objects
        if {$o(verbose)} { puts stderr "[$ns now] html in [expr {[$ns now] - $began}]" }
        if {$o(order) eq "server"} {
            for {set i 0} {$i < 4} {incr i} { for {set c 0} {$c < $o(conns)} {incr c} { more $i } }
        } else {
            for {set c 0} {$c < $o(conns)} {incr c} { for {set i 0} {$i < 4} {incr i} { more $i } }
        }
        return
    }
    if {$phase ne "objects"} return
    incr done($s)
    foreach i {0 1 2 3} { if {$done($i) < $o(each)} { more $s; return } }
    set phase think
    lappend loads [expr {[$ns now] - $began}]
    if {$o(verbose)} { puts stderr "[$ns now] page in [lindex $loads end]" }
    $ns at [expr {[$ns now] + $o(think)}] page
}
$ns at $o(webstart) page

proc finish {} {
    global o loads opened mon integral bulk
    set acked {}; set timeouts {}
    foreach f $bulk { lappend acked [$f set ack_]; lappend timeouts [$f set nrexmit_] }
    set mean [expr {([$integral set sum_] + [$integral set lasty_] * ($o(t) - [$integral set lastx_])) / $o(t)}]
    puts "\{\"pages\": \[[join $loads ,]\], \"opened\": $opened, \"departures\": [$mon set pdepartures_], \
\"bytes\": [$mon set bdepartures_], \"drops\": [$mon set pdrops_], \"queue_mean\": $mean, \
\"bulk_acked\": \[[join $acked ,]\], \"bulk_timeouts\": \[[join $timeouts ,]\]\}"
    flush stdout
    exit 0
}
$ns at $o(t) finish
$ns run
