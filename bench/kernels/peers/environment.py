"""What a run's figures belong to: GPU, driver, versions, date."""
import datetime, glob, os, subprocess
import torch


def describe(peers_folder):
    query = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True)
    gpu, _, driver = query.stdout.strip().partition(", ")
    versions = {}
    for wheel in glob.glob(f"{peers_folder}/*.dist-info") if peers_folder else []:
        name, _, version = os.path.basename(wheel).removesuffix(".dist-info").partition("-")
        versions[name] = version
    if peers_folder:
        name, _, version = open(f"{peers_folder}/versions.txt").read().strip().partition("-")
        versions[name] = version
    return dict(note="environment", gpu=gpu or torch.cuda.get_device_name(), driver=driver, cuda=torch.version.cuda, torch=torch.__version__,
                nvrtc=os.path.basename(os.path.realpath(os.environ["CUBIND_NVRTC"])), peers=versions,
                sms=torch.cuda.get_device_properties(0).multi_processor_count, date=datetime.date.today().isoformat())
