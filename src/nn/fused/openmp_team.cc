#include "nn/fused/openmp_team.h"

#include <omp.h>

namespace tandem {

int OpenMpTeamSize() {
  int size = 0;
#pragma omp parallel
#pragma omp single
  size = omp_get_num_threads();
  return size;
}

}  // namespace tandem
