// SPDX-License-Identifier: Apache-2.0
//
// What nearly every test includes and what takes long to read: compiled once for all of them. A
// test still includes what it uses.
#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
