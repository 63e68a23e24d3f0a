// SPDX-License-Identifier: Apache-2.0
// PNG: ISO/IEC 15948 (W3C Portable Network Graphics), an indexed image in one IDAT chunk.
#include "models/base/error.h"
#include "sim/check/kernel/kernel_crosscheck.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <zlib.h>

namespace sptc::check::kernel {
namespace {

/// What a cell of a map says of its elements: equal, some or all differ, the same explained. As a character, a colour.
constexpr std::string_view kCharacters = ".+#+#";
constexpr std::array<std::array<std::uint8_t, 3>, 5> kColors{
    {{0xEE, 0xEE, 0xEE}, {0xF4, 0xA5, 0x82}, {0xB2, 0x18, 0x2B}, {0x92, 0xC5, 0xDE}, {0x21, 0x66, 0xAC}}};

struct Cells {
  base::Matrix<std::uint8_t> cells;   ///< places in kColors
  base::Matrix<std::uint8_t> digits;  ///< of the largest distance in ulps
  std::size_t height = 1, width = 1;  ///< elements of D in one
};

/// 1 where an element is in a place that is explained.
WrongElements explained_elements(const KernelDiagnosis& diagnosis) {
  const bool all = !diagnosis.fitting.empty();
  WrongElements explained(diagnosis.wrong.rows(), diagnosis.wrong.cols(), all ? 1 : 0);
  for (const auto& [region, fault] : diagnosis.location.places) {
    if (!all && fault) {
      region.selection().each([&](std::size_t row, std::size_t column) { explained(row, column) = 1; });
    }
  }
  return explained;
}

/// A cell has a power of two of rows and of columns: the least of which so many cover D.
Cells cells_of(const KernelDiagnosis& diagnosis, std::size_t most_rows, std::size_t most_columns) {
  struct Count {
    std::size_t total, bad, known;
  };
  const WrongElements& wrong = diagnosis.wrong;
  const WrongElements explained = explained_elements(diagnosis);
  const auto quotient = [](std::size_t count, std::size_t by) { return (count + by - 1) / by; };
  Cells result;
  result.height = std::bit_ceil(quotient(wrong.rows(), most_rows));
  result.width = std::bit_ceil(quotient(wrong.cols(), most_columns));
  const std::size_t rows = quotient(wrong.rows(), result.height), columns = quotient(wrong.cols(), result.width);
  base::Matrix<Count> counts(rows, columns);
  result.digits = result.cells = base::Matrix<std::uint8_t>(rows, columns);
  for (std::size_t i = 0; i < wrong.rows(); ++i) {
    for (std::size_t j = 0; j < wrong.cols(); ++j) {
      const std::size_t row = i / result.height, column = j / result.width;
      Count& count = counts(row, column);
      ++count.total;
      count.bad += wrong(i, j);
      count.known += wrong(i, j) & explained(i, j);
      if (!diagnosis.digits.empty()) {
        result.digits(row, column) = std::max(result.digits(row, column), diagnosis.digits(i, j));
      }
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto& [total, bad, known] = counts.data()[i];
    result.cells.data()[i] = static_cast<std::uint8_t>(bad == 0 ? 0 : (bad == total ? 2 : 1) + (known == bad ? 2 : 0));
  }
  return result;
}

/// What a map shows: of two populations of errors the larger ones.
KernelDiagnosis shown_of(const KernelDiagnosis& diagnosis) {
  KernelDiagnosis result = diagnosis;
  if (result.populations.are_two()) {
    result.wrong = result.populations.beyond_rounding;
    result.location = result.beyond_rounding;
  }
  return result;
}

// PNG ---------------------------------------------------------------------------------------------

std::string big_endian(std::size_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    text += static_cast<char>(value >> shift & 0xFF);
  }
  return text;
}

std::string chunk_of(std::string_view type, const std::string& data) {
  const std::string body = std::string(type) + data;
  const auto* const bytes = reinterpret_cast<const Bytef*>(body.data());
  return big_endian(data.size()) + body + big_endian(::crc32_z(0, bytes, body.size()));
}

std::string png_of(const base::Matrix<std::uint8_t>& cells) {
  constexpr std::size_t kLeastEdge = 256;
  const std::size_t scale = std::max<std::size_t>(1, kLeastEdge / std::max(cells.rows(), cells.cols()));
  std::string pixels, palette;
  for (std::size_t y = 0; y < cells.rows() * scale; ++y) {
    pixels += '\0';  // no filter
    for (std::size_t x = 0; x < cells.cols() * scale; ++x) {
      pixels += static_cast<char>(cells(y / scale, x / scale));
    }
  }
  uLongf size = ::compressBound(pixels.size());
  std::string packed(size, '\0');
  const int error = ::compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                                reinterpret_cast<const Bytef*>(pixels.data()), pixels.size(), Z_DEFAULT_COMPRESSION);
  base::ensure(error == Z_OK, "zlib did not pack an image");
  packed.resize(size);
  for (const auto& color : kColors) {
    palette.append(reinterpret_cast<const char*>(color.data()), color.size());
  }
  const std::string head = big_endian(cells.cols() * scale) + big_endian(cells.rows() * scale) +
                           std::string("\x08\x03\x00\x00\x00", 5);  // 8 bits, indexed
  return "\x89PNG\r\n\x1A\n" + chunk_of("IHDR", head) + chunk_of("PLTE", palette) + chunk_of("IDAT", packed) +
         chunk_of("IEND", "");
}

// SVG ---------------------------------------------------------------------------------------------

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return result;
}

std::vector<std::string> legend_of(const KernelCase& kernel, const KernelDiagnosis& diagnosis) {
  constexpr std::size_t kMostLines = 12;
  std::vector<std::string> lines{fmt::format("{}: D [{}, {}], {} of {} elements differ (blue: explained, red: not)",
                                             kernel.name, kernel.data.m, kernel.data.n, diagnosis.comparison.mismatches,
                                             diagnosis.comparison.elements)};
  for (const Explanation& fitting : diagnosis.fitting) {
    lines.push_back(fitting.cause + ": " + fitting.text);
  }
  for (const auto& [region, fault] : diagnosis.location.places) {
    if (lines.size() < kMostLines && diagnosis.fitting.empty()) {  // what fits says its places
      lines.push_back(place_text(region, kernel.data) + (fault ? ": " + fault->text : " differ"));
    }
  }
  return lines;
}

std::string svg_of(const KernelCase& kernel, const KernelDiagnosis& diagnosis, const Cells& map) {
  constexpr double kEdge = 512, kLeft = 56, kTop = 28, kLine = 18;
  constexpr std::size_t kTicks = 4, kMostOutlines = 256;
  const base::Matrix<std::uint8_t>& cells = map.cells;
  const double cell = kEdge / static_cast<double>(std::max(cells.rows(), cells.cols()));
  const auto x_of = [&](std::size_t column) {
    return kLeft + cell * static_cast<double>(column) / static_cast<double>(map.width);
  };
  const auto y_of = [&](std::size_t row) {
    return kTop + cell * static_cast<double>(row) / static_cast<double>(map.height);
  };
  std::string body;
  const auto add_rectangle = [&](const Interval& rows, const Interval& columns, const std::string& look) {
    const double x = x_of(columns.begin), y = y_of(rows.begin);
    body += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" {}/>\n", x, y,
                        x_of(columns.end) - x, y_of(rows.end) - y, look);
  };
  for (std::size_t row = 0; row < cells.rows(); ++row) {
    for (std::size_t first = 0, last = 0; first < cells.cols(); first = last) {
      while (last < cells.cols() && cells(row, last) == cells(row, first)) {
        ++last;
      }
      const auto& color = kColors[cells(row, first)];
      add_rectangle({row * map.height, (row + 1) * map.height}, {first * map.width, last * map.width},
                    fmt::format("fill=\"#{:02X}{:02X}{:02X}\"", color[0], color[1], color[2]));
    }
  }
  std::size_t outlines = 0;
  for (const LocatedFault& place : diagnosis.location.places) {
    for (const Interval& rows : place.region.rows) {
      for (const Interval& columns : place.region.columns) {
        if (++outlines <= kMostOutlines) {
          add_rectangle(rows, columns, "fill=\"none\" stroke=\"black\"");
        }
      }
    }
  }
  for (std::size_t tick = 0; tick <= kTicks; ++tick) {
    const std::size_t row = kernel.data.m * tick / kTicks, column = kernel.data.n * tick / kTicks;
    body += fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n"
        "<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n",
        kLeft - 6, y_of(row) + 4, row, x_of(column), kTop - 8, column);
  }
  const Interval rows{0, cells.rows() * map.height}, columns{0, cells.cols() * map.width};
  add_rectangle(rows, columns, "fill=\"none\" stroke=\"#888\"");
  double y = y_of(rows.end);
  for (const std::string& line : legend_of(kernel, diagnosis)) {
    y += kLine;
    body += fmt::format("<text x=\"4\" y=\"{:.0f}\">{}</text>\n", y, escaped(line));
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}</svg>\n",
      std::max(x_of(columns.end) + 24, 720.0), y + kLine, body);
}

}  // namespace

std::string map_text(const KernelDiagnosis& diagnosis) {
  constexpr std::size_t kMostRows = 32, kMostColumns = 64;
  if (diagnosis.wrong.empty() || diagnosis.is_right()) {
    return "";
  }
  const bool two = diagnosis.populations.are_two();
  const bool by_size = !two && diagnosis.fitting.empty() && !diagnosis.location.has_fault();
  const Cells map = cells_of(shown_of(diagnosis), kMostRows, kMostColumns);
  if (!by_size && std::count(map.cells.data(), map.cells.data() + map.cells.size(), 0) == 0) {
    return "";
  }
  std::string text = fmt::format("map of D, a character for {} x {} elements (", map.height, map.width);
  text += by_size ? ". equal, else the digits of the largest error in ulps, * NaN):\n"
          : two   ? ". equal or off by rounding, + some off by more, # all off by more):\n"
                  : ". equal, + some differ, # all differ):\n";
  for (std::size_t row = 0; row < map.cells.rows(); ++row) {
    text += fmt::format("{:>8}  ", row * map.height);
    for (std::size_t column = 0; column < map.cells.cols(); ++column) {
      const std::uint8_t digits = map.digits(row, column);
      const bool is_number = digits != KernelDiagnosis::kNoDigits;
      text += !by_size      ? kCharacters[map.cells(row, column)]
              : digits == 0 ? '.'
              : is_number   ? static_cast<char>('0' + std::min<int>(digits, 9))  // of f32 no more than 10 digits
                            : '*';
    }
    text += '\n';
  }
  return text;
}

MapFormat map_format(std::string_view path) {
  if (!path.ends_with(".svg") && !path.ends_with(".png")) {
    throw base::InputError(fmt::format("--map {}: its ending must be .svg or .png", io::printable(std::string(path))));
  }
  return path.ends_with(".svg") ? MapFormat::kSvg : MapFormat::kPng;
}

std::string map_image(const KernelCase& kernel, const KernelDiagnosis& diagnosis, MapFormat format) {
  constexpr std::size_t kMostSvg = 128, kMostPng = 1024;
  KernelDiagnosis shown = shown_of(diagnosis);
  if (shown.wrong.empty()) {  // the kernel is right
    shown.wrong = WrongElements(kernel.data.m, kernel.data.n);
  }
  const std::size_t most = format == MapFormat::kPng ? kMostPng : kMostSvg;
  const Cells cells = cells_of(shown, most, most);
  return format == MapFormat::kPng ? png_of(cells.cells) : svg_of(kernel, shown, cells);
}

}  // namespace sptc::check::kernel
