// What every program's wrapper includes; precompiled.
#include <torch/csrc/inductor/aoti_include/cpu.h>
#include <torch/csrc/inductor/aoti_runtime/interface.h>
#include <torch/csrc/inductor/aoti_runtime/model_container.h>

#include <iostream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "failed_check.h"
