"""Checks which CUDA toolkit set-up and CMake choose, with toolkits that have only the files by which they are
recognised."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
PLACES = ("CUDA_HOME", "PATH", "/usr/local/cuda", "/usr/local/cuda-VERSION", ".venv")


def write(path, text, is_program=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if is_program:
        path.chmod(0o755)


def make_toolkit(folder, version):
    write(folder / "bin/nvcc", "", is_program=True)
    write(folder / "include/cuda_runtime_api.h", f"#define CUDART_VERSION  {version}\n")
    write(folder / "lib64/libcudart.so", "")


class CudaToolkit(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name).resolve()
        for file in ("cmake/CudaToolkit.cmake", "scripts/setup"):
            (self.root / file).parent.mkdir(exist_ok=True)
            shutil.copy(SOURCE / file, self.root / file)
        self.packages = self.root / ".venv/lib/python3.11/site-packages"
        write(self.packages / "torch/version.py", "cuda: Optional[str] = '13.0'\n")
        for name in ("libtorch", "torch", "cmake", "cuda"):
            write(self.root / "scripts/requirements" / f"{name}.txt", name)
        write(self.root / ".venv/installed/torch", "2.11.0\n")
        write(self.root / ".venv/installed/libtorch.txt", "libtorch")
        self.local = self.root / "local"
        self.programs = self.root / "programs"
        self.environment = {"PATH": f"{self.programs}:/usr/bin:/bin", "HOME": str(self.root)}

    def folder_of(self, place, version):
        """Returns the folder in which a toolkit is in this place, and makes the environment name it."""
        if place == "CUDA_HOME":
            self.environment[place] = str(self.root / f"home-{version}")
            return self.root / f"home-{version}"
        if place == "PATH":
            folder = self.root / f"path-{version}"
            self.environment["PATH"] = f"{folder}/bin:{self.environment['PATH']}"
            return folder
        if place == ".venv":
            return self.packages / f"nvidia/cu{version // 1000}"
        return self.local / ("cuda" if place == "/usr/local/cuda" else f"cuda-{version // 1000}")

    def run_program(self, *command, exit_code=0):
        done = subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def chosen(self):
        cmake = shutil.which("cmake")
        return self.run_program(cmake, "-D", f"LIBTORCH={self.packages / 'torch'}", "-D", f"CUDA_LOCAL={self.local}",
                                "-P", self.root / "cmake/CudaToolkit.cmake").strip()

    def test_a_toolkit_of_another_version_hides_none_of_the_right_one(self):
        for wrong in PLACES:
            for right in PLACES:
                if wrong == right and wrong in ("CUDA_HOME", "/usr/local/cuda"):
                    continue  # a place for one toolkit
                with self.subTest(wrong=wrong, right=right):
                    self.setUp()
                    folder = self.folder_of(right, 13010)
                    make_toolkit(folder, 13010)
                    make_toolkit(self.folder_of(wrong, 12040), 12040)
                    self.assertEqual(self.chosen(), f"FOUND CUDA 13.1 in {folder}")

    def test_a_toolkit_of_another_version_is_named_with_both_versions(self):
        folder = self.folder_of("PATH", 12040)
        make_toolkit(folder, 12040)
        said = self.chosen()
        self.assertIn(f"MISSING LibTorch needs CUDA 13, but only CUDA 12.4 in {folder} was found", said)
        self.assertIn("`CUDA=pypi scripts/setup` installs CUDA 13", said)

    def test_a_folder_without_a_compiler_a_header_or_a_library_is_no_toolkit(self):
        for file in ("bin/nvcc", "include/cuda_runtime_api.h", "lib64/libcudart.so"):
            with self.subTest(file):
                self.setUp()
                make_toolkit(self.local / "cuda", 13000)
                (self.local / "cuda" / file).unlink()
                self.assertIn("MISSING no toolkit was found", self.chosen())

    def test_a_link_to_the_compiler_leads_to_its_toolkit(self):
        make_toolkit(self.root / "opt/cuda", 13000)
        self.programs.mkdir()
        (self.programs / "nvcc").symlink_to(self.root / "opt/cuda/bin/nvcc")
        self.assertEqual(self.chosen(), f"FOUND CUDA 13.0 in {self.root / 'opt/cuda'}")

    def set_up(self, driver="580.95.05", exit_code=0, cmake_version="3.25.1"):
        """Runs set-up on a machine that seems to have all packages, LibTorch and perhaps an NVIDIA driver. What it
        installs from PyPI is recorded."""
        write(self.programs / "dpkg-query", "#!/bin/sh\necho ok installed\n", is_program=True)
        write(self.programs / "python3", "#!/bin/sh\n", is_program=True)  # makes no new .venv
        if driver:
            write(self.programs / "nvidia-smi", f"#!/bin/sh\necho {driver}\n", is_program=True)
        toolkit = self.packages / "nvidia/cu13"
        write(self.root / ".venv/bin/python", f"""#!/bin/sh
            case "$*" in
              *--version*) exit ;;
            esac
            echo "$@" >> {self.root}/installed
            mkdir -p {toolkit}/bin {toolkit}/include {toolkit}/lib
            touch {toolkit}/bin/nvcc {toolkit}/lib/libcudart.so.13
            echo '#define CUDART_VERSION  13000' > {toolkit}/include/cuda_runtime_api.h
            """.replace("\n            ", "\n"), is_program=True)
        cmake = shutil.which("cmake")
        write(self.programs / "cmake", f'#!/bin/sh\n[ "$1" != --version ] || exec echo cmake version {cmake_version}\n'
              f'exec {cmake} -D CUDA_LOCAL={self.local} "$@"\n', is_program=True)
        said = self.run_program(self.root / "scripts/setup", exit_code=exit_code)
        installed = self.root / "installed"
        return said, installed.read_text() if installed.exists() else ""

    def test_set_up_installs_the_right_toolkit_beside_a_wrong_one(self):
        make_toolkit(self.folder_of("PATH", 12040), 12040)
        said, installed = self.set_up()
        self.assertIn("scripts/requirements/cuda.txt", installed)
        self.assertIn(f"CUDA toolkit: CUDA 13.0 in {self.packages / 'nvidia/cu13'}; the CUDA device is built", said)

    def test_set_up_installs_no_toolkit_beside_the_right_one(self):
        make_toolkit(self.local / "cuda", 13000)
        said, installed = self.set_up()
        self.assertNotIn("scripts/requirements/cuda.txt", installed)
        self.assertIn(f"CUDA 13.0 in {self.local / 'cuda'}", said)

    @unittest.skipIf(pathlib.Path("/proc/driver/nvidia/version").exists(), "this machine has a driver")
    def test_set_up_installs_what_torch_needs_for_a_gpu_only_where_it_can_be_used(self):
        self.assertIn("scripts/requirements/torch.txt", self.set_up()[1])
        self.setUp()
        self.assertEqual(self.set_up(driver=None)[1], "")

    def test_an_old_driver_gets_a_libtorch_for_cuda_12_if_there_is_its_toolkit(self):
        make_toolkit(self.folder_of("CUDA_HOME", 12080), 12080)
        said, installed = self.set_up(driver="550.54.15")
        self.assertIn("taking LibTorch 2.10.0 with CUDA 12 for the NVIDIA driver 550.54.15, since 2.11.0 needs 580", said)
        self.assertIn("torch==2.10.0", installed)
        self.setUp()
        said, installed = self.set_up(driver="550.54.15")
        self.assertIn("550.54.15 is older than 580, so only the CPU will be used", said)
        self.assertNotIn("torch==2.10.0", installed)

    def test_set_up_installs_a_cmake_where_the_systems_is_too_old(self):
        for version, is_installed in (("3.22.1", True), ("3.25", False), ("4.1.2", False)):
            with self.subTest(version):
                self.setUp()
                self.assertEqual("scripts/requirements/cmake.txt" in self.set_up(cmake_version=version)[1], is_installed)

    def test_a_version_of_libtorch_that_was_asked_for_is_kept(self):
        self.environment["TORCH"] = "2.15.0"
        self.assertIn("torch==2.15.0", self.set_up()[1])
        (self.root / "installed").unlink()
        del self.environment["TORCH"]
        self.assertNotIn("torch", self.set_up()[1])

    def test_a_changed_list_and_an_interrupted_installation_are_installed_again(self):
        self.assertNotIn("libtorch", self.set_up()[1])
        write(self.root / "scripts/requirements/libtorch.txt", "libtorch of tomorrow")
        self.assertIn("libtorch.txt", self.set_up()[1])
        (self.root / ".venv/installed/torch").unlink()
        (self.root / "installed").unlink()
        self.assertIn("libtorch.txt", self.set_up()[1])
        (self.root / "installed").unlink()
        self.assertEqual(self.set_up()[1], "")

    def test_a_version_of_libtorch_that_is_too_old_is_refused(self):
        self.environment["TORCH"] = "2.8.0"
        self.assertIn("TORCH=2.8.0: expected a version such as 2.11.0, 2.9.0 or later", self.set_up(exit_code=2)[0])

    def test_set_up_does_not_take_an_empty_folder_for_a_toolkit(self):
        (self.local / "cuda").mkdir(parents=True)
        self.assertIn("scripts/requirements/cuda.txt", self.set_up()[1])


if __name__ == "__main__":
    unittest.main()
