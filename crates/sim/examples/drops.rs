use record::*; use scenario::read::*;
struct D{up:u16,t0:f64,t1:f64}
impl Sink for D { fn mask(&self)->Mask{Mask::ALL} fn put(&mut self, now: units::Time, r: Record){
  if now.secs()<self.t0 || now.secs()>self.t1 {return}
  match r { Record::Dropped{link,flow,size,reason,..} if link.0==self.up=>println!("{:.6} DROP f{}/{} {:?}",now.secs(),flow.slot(),size,reason),
   Record::Enqueued{link,flow,size,backlog_packets,..} if link.0==self.up => println!("{:.6} enq f{}/{} q{}",now.secs(),flow.slot(),size,backlog_packets),
   Record::Dequeued{link,flow,size,..} if link.0==self.up => println!("{:.6} deq f{}/{}",now.secs(),flow.slot(),size), _=>{} } } }
fn main(){ let a:Vec<String>=std::env::args().collect(); let t=std::fs::read_to_string(&a[1]).unwrap();
 let s=scenario(&t,Format::Json,&[]).unwrap(); let up=s.directed_links().iter().position(|(n,_)|n=="up").unwrap() as u16;
 let mut w=sim::World::with_sink(&s,D{up,t0:a[2].parse().unwrap(),t1:a[3].parse().unwrap()}).unwrap(); w.run(|_|true);}
