import re
s=open('/tmp/fnlinux/stress.py').read()
s=s.replace("import sys, random, time, tempfile","import sys, random, time, tempfile, atexit\nLOG=[]")
s=s.replace("drive.client.ask(vc.RESET); time.sleep(","LOG.append('RESET'); drive.client.ask(vc.RESET); time.sleep(")
s=s.replace("d.start(queues","LOG.append('start'); d.start(queues").replace("virtualization.offline(d,fn);","LOG.append(f'vm{fn}'); virtualization.offline(d,fn);")
s=s.replace("if k==0:","LOG.append(f'down{k}')\n                if k==0:").replace("drive.close(); n+=1","LOG.append('close'); drive.close(); n+=1")
s=s.replace("F.RESET_S=15","""F.RESET_S=15
import doorbell.vm.devices
orig=F.FunctionDevice.reset
def reset(self):
    LOG.append(f'<r{self.fn}'); c=self._sim.cycle
    sim=self._sim
    try: orig(self)
    except BaseException: print('HUNG', sim.cycle-c, 'cycles', n, LOG[-30:], flush=True); raise
    LOG.append('>')
F.FunctionDevice.reset=reset""")
open('/tmp/fnlinux/stress3.py','w').write(s)
