// SPDX-License-Identifier: Apache-2.0
// PNG: ISO/IEC 15948 (W3C Portable Network Graphics), an indexed image in one IDAT chunk.
#include "models/base/error.h"
#include "sim/check/kernel/kernel_crosscheck.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>
#include <zlib.h>

namespace sptc::check::kernel {
namespace {

/// What a cell of a map says of its elements.
enum class Cell : std::uint8_t { kEqual, kSome, kAll, kSomeExplained, kAllExplained };
constexpr std::array<std::array<std::uint8_t, 3>, 5> kColors{{{0xEE, 0xEE, 0xEE},
                                                              {0xF4, 0xA5, 0x82},
                                                              {0xB2, 0x18, 0x2B},
                                                              {0x92, 0xC5, 0xDE},
                                                              {0x21, 0x66, 0xAC}}};

struct Cells {
  base::Matrix<std::uint8_t> cells;
  std::size_t height = 1, width = 1;  ///< elements of D in one
};

/// The smallest power of two of which at most `most` cover `count`.
std::size_t cell_extent(std::size_t count, std::size_t most) {
  return std::bit_ceil((count + most - 1) / most);
}

/// 1 where an element is in a place that is explained.
WrongElements explained_elements(const KernelDiagnosis& diagnosis) {
  const bool all = !diagnosis.fitting.empty();
  WrongElements explained(diagnosis.wrong.rows(), diagnosis.wrong.cols(), all ? 1 : 0);
  for (const LocatedFault& place : diagnosis.location.places) {
    if (all || !place.fault) {
      continue;
    }
    for (const std::size_t row : numbers(place.region.rows)) {
      for (const std::size_t column : numbers(place.region.columns)) {
        explained(row, column) = 1;
      }
    }
  }
  return explained;
}

Cells cells_of(const KernelDiagnosis& diagnosis, std::size_t most_rows, std::size_t most_columns) {
  const WrongElements& wrong = diagnosis.wrong;
  const WrongElements explained = explained_elements(diagnosis);
  Cells result{{}, cell_extent(wrong.rows(), most_rows), cell_extent(wrong.cols(), most_columns)};
  const std::size_t rows = (wrong.rows() + result.height - 1) / result.height;
  const std::size_t columns = (wrong.cols() + result.width - 1) / result.width;
  base::Matrix<std::size_t> total(rows, columns), bad(rows, columns), known(rows, columns);
  for (std::size_t i = 0; i < wrong.rows(); ++i) {
    for (std::size_t j = 0; j < wrong.cols(); ++j) {
      const std::size_t row = i / result.height, column = j / result.width;
      ++total(row, column);
      bad(row, column) += wrong(i, j);
      known(row, column) += wrong(i, j) & explained(i, j);
    }
  }
  result.cells = base::Matrix<std::uint8_t>(rows, columns);
  for (std::size_t i = 0; i < total.size(); ++i) {
    const std::size_t count = bad.data()[i];
    const bool is_known = count > 0 && known.data()[i] == count;
    const Cell cell = count == 0                 ? Cell::kEqual
                      : count == total.data()[i] ? is_known ? Cell::kAllExplained : Cell::kAll
                      : is_known                 ? Cell::kSomeExplained
                                                 : Cell::kSome;
    result.cells.data()[i] = static_cast<std::uint8_t>(cell);
  }
  return result;
}

/// How many digits the largest distance of a cell has: '.', '1' to '9', '*' for NaN.
char size_of_cell(const base::Matrix<std::uint8_t>& digits, const Cells& map, std::size_t row,
                  std::size_t column) {
  std::uint8_t most = 0;
  for (std::size_t i = row * map.height; i < std::min((row + 1) * map.height, digits.rows()); ++i) {
    for (std::size_t j = column * map.width; j < std::min((column + 1) * map.width, digits.cols());
         ++j) {
      most = std::max(most, digits(i, j));
    }
  }
  constexpr std::uint8_t kLargest = 9;  // of f32 no more than 10 digits
  return most == 0           ? '.'
         : most == kNoDigits ? '*'
                             : static_cast<char>('0' + std::min(most, kLargest));
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

void append_big_endian(std::string& text, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    text += static_cast<char>(value >> shift & 0xFF);
  }
}

void append_chunk(std::string& png, std::string_view type, const std::string& data) {
  append_big_endian(png, static_cast<std::uint32_t>(data.size()));
  const std::string body = std::string(type) + data;
  png += body;
  append_big_endian(png, static_cast<std::uint32_t>(::crc32_z(
                             0, reinterpret_cast<const Bytef*>(body.data()), body.size())));
}

std::string png_of(const Cells& map) {
  constexpr std::size_t kLeastEdge = 256;
  const std::size_t scale =
      std::max<std::size_t>(1, kLeastEdge / std::max(map.cells.rows(), map.cells.cols()));
  std::string pixels;
  for (std::size_t y = 0; y < map.cells.rows() * scale; ++y) {
    pixels += '\0';  // no filter
    for (std::size_t x = 0; x < map.cells.cols() * scale; ++x) {
      pixels += static_cast<char>(map.cells(y / scale, x / scale));
    }
  }
  uLongf size = ::compressBound(pixels.size());
  std::string packed(size, '\0');
  const int error = ::compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                                reinterpret_cast<const Bytef*>(pixels.data()), pixels.size(),
                                Z_DEFAULT_COMPRESSION);
  base::ensure(error == Z_OK, "zlib did not pack an image");
  packed.resize(size);
  std::string head, palette;
  append_big_endian(head, static_cast<std::uint32_t>(map.cells.cols() * scale));
  append_big_endian(head, static_cast<std::uint32_t>(map.cells.rows() * scale));
  head += std::string("\x08\x03\x00\x00\x00", 5);  // 8 bits, indexed
  for (const auto& color : kColors) {
    palette.append(reinterpret_cast<const char*>(color.data()), color.size());
  }
  std::string png = "\x89PNG\r\n\x1A\n";
  append_chunk(png, "IHDR", head);
  append_chunk(png, "PLTE", palette);
  append_chunk(png, "IDAT", packed);
  append_chunk(png, "IEND", "");
  return png;
}

// SVG ---------------------------------------------------------------------------------------------

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return result;
}

class SvgMap {
 public:
  SvgMap(const KernelCase& kernel, const KernelDiagnosis& diagnosis, const Cells& map)
      : kernel_(kernel), diagnosis_(diagnosis), map_(map) {
    constexpr double kEdge = 512;
    cell_ = kEdge / static_cast<double>(std::max(map.cells.rows(), map.cells.cols()));
  }

  std::string text() {
    const double width = kLeft + cell_ * static_cast<double>(map_.cells.cols());
    const double height = kTop + cell_ * static_cast<double>(map_.cells.rows());
    add_cells();
    add_places();
    add_axes(width, height);
    std::string lines;
    double y = height;
    for (const std::string& line : legend()) {
      y += kLine;
      lines += fmt::format("<text x=\"4\" y=\"{:.0f}\">{}</text>\n", y, escaped(line));
    }
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"white\"/>\n{}{}</svg>\n",
        std::max(width + 24, 720.0), y + kLine, body_, lines);
  }

 private:
  static constexpr double kLeft = 56, kTop = 28, kLine = 18;

  void add_rectangle(double x, double y, double width, double height, std::string_view look) {
    body_ +=
        fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" {}/>\n", x,
                    y, width, height, look);
  }

  void add_cells() {
    for (std::size_t row = 0; row < map_.cells.rows(); ++row) {
      for (std::size_t first = 0; first < map_.cells.cols();) {
        const std::uint8_t cell = map_.cells(row, first);
        std::size_t last = first;
        while (last < map_.cells.cols() && map_.cells(row, last) == cell) {
          ++last;
        }
        const auto& color = kColors[cell];
        add_rectangle(kLeft + cell_ * static_cast<double>(first),
                      kTop + cell_ * static_cast<double>(row),
                      cell_ * static_cast<double>(last - first), cell_,
                      fmt::format("fill=\"#{:02X}{:02X}{:02X}\"", color[0], color[1], color[2]));
        first = last;
      }
    }
  }

  double x_of(std::size_t column) const {
    return kLeft + cell_ * static_cast<double>(column) / static_cast<double>(map_.width);
  }
  double y_of(std::size_t row) const {
    return kTop + cell_ * static_cast<double>(row) / static_cast<double>(map_.height);
  }

  void add_places() {
    constexpr std::size_t kMostOutlines = 256;
    std::size_t outlines = 0;
    for (const LocatedFault& place : diagnosis_.location.places) {
      for (const Interval& rows : place.region.rows) {
        for (const Interval& columns : place.region.columns) {
          if (++outlines > kMostOutlines) {
            return;
          }
          const double x = x_of(columns.begin), y = y_of(rows.begin);
          add_rectangle(x, y, x_of(columns.end) - x, y_of(rows.end) - y,
                        "fill=\"none\" stroke=\"black\"");
        }
      }
    }
  }

  void add_axes(double width, double height) {
    constexpr int kTicks = 4;
    for (int tick = 0; tick <= kTicks; ++tick) {
      const std::size_t row = kernel_.data.m * static_cast<std::size_t>(tick) / kTicks;
      const std::size_t column = kernel_.data.n * static_cast<std::size_t>(tick) / kTicks;
      body_ += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                           kLeft - 6, y_of(row) + 4, row);
      body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n",
                           x_of(column), kTop - 8, column);
    }
    body_ += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"none\" "
        "stroke=\"#888\"/>\n",
        kLeft, kTop, width - kLeft, height - kTop);
  }

  std::vector<std::string> legend() const {
    constexpr std::size_t kMostLines = 12;
    std::vector<std::string> lines{
        fmt::format("{}: D [{}, {}], {} of {} elements differ (blue: explained, red: not)",
                    kernel_.name, kernel_.data.m, kernel_.data.n, diagnosis_.comparison.mismatches,
                    diagnosis_.comparison.elements)};
    for (const Explanation& fitting : diagnosis_.fitting) {
      lines.push_back(fitting.cause + ": " + fitting.text);
    }
    for (const LocatedFault& place : diagnosis_.location.places) {
      if (lines.size() >= kMostLines || !diagnosis_.fitting.empty()) {
        break;  // what fits says its places
      }
      lines.push_back(place_text(place.region, kernel_.data) +
                      (place.fault ? ": " + place.fault->text : " differ"));
    }
    return lines;
  }

  const KernelCase& kernel_;
  const KernelDiagnosis& diagnosis_;
  const Cells& map_;
  double cell_ = 1;
  std::string body_;
};

}  // namespace

std::string map_text(const KernelDiagnosis& diagnosis) {
  constexpr std::size_t kMostRows = 32, kMostColumns = 64;
  if (diagnosis.wrong.empty() || diagnosis.is_right()) {
    return "";
  }
  const bool two = diagnosis.populations.are_two();
  const bool by_size = !two && diagnosis.fitting.empty() && !diagnosis.location.has_fault();
  const Cells map = cells_of(shown_of(diagnosis), kMostRows, kMostColumns);
  const auto* const end = map.cells.data() + map.cells.size();
  if (!by_size &&
      std::find(map.cells.data(), end, static_cast<std::uint8_t>(Cell::kEqual)) == end) {
    return "";
  }
  std::string text =
      fmt::format("map of D, a character for {} x {} elements (", map.height, map.width);
  text += by_size ? std::string(". equal, else the digits of the largest error in ulps, * NaN):\n")
                  : fmt::format(". {}, + some {}, # all {}):\n",
                                two ? "equal or off by rounding" : "equal",
                                two ? "off by more" : "differ", two ? "off by more" : "differ");
  for (std::size_t row = 0; row < map.cells.rows(); ++row) {
    text += fmt::format("{:>8}  ", row * map.height);
    for (std::size_t column = 0; column < map.cells.cols(); ++column) {
      text += by_size ? size_of_cell(diagnosis.digits, map, row, column)
                      : ".+#+#"[map.cells(row, column)];
    }
    text += '\n';
  }
  return text;
}

MapFormat map_format(std::string_view path) {
  if (path.ends_with(".svg")) {
    return MapFormat::kSvg;
  }
  if (path.ends_with(".png")) {
    return MapFormat::kPng;
  }
  throw base::InputError(
      fmt::format("--map {}: its ending must be .svg or .png", io::printable(std::string(path))));
}

std::string map_image(const KernelCase& kernel, const KernelDiagnosis& diagnosis,
                      MapFormat format) {
  constexpr std::size_t kMostSvg = 128, kMostPng = 1024;
  KernelDiagnosis shown = shown_of(diagnosis);
  if (shown.wrong.empty()) {  // the kernel is right
    shown.wrong = WrongElements(kernel.data.m, kernel.data.n);
  }
  const bool is_png = format == MapFormat::kPng;
  const std::size_t most = is_png ? kMostPng : kMostSvg;
  const Cells cells = cells_of(shown, most, most);
  return is_png ? png_of(cells) : SvgMap(kernel, shown, cells).text();
}

}  // namespace sptc::check::kernel
