// SPDX-License-Identifier: Apache-2.0
#pragma once

/// From where on `--explain` says that something is so. Shares are of the time of a launch where
/// their comment says nothing else. None is fitted: they follow from how far sampled SMs are off
/// all of them (about a hundredth on average: README, Limits), from what prints as another number,
/// and, where neither decides, from what tells a designer what to build.
namespace sptc::sim::threshold {

// What bounds a launch.

/// What a resource has to save where it is twice as fast to bound a simulated launch; where none
/// does, the one that works most is named. Simulated times are off by as much.
inline constexpr double kSaves = 0.01;
/// What a launch has to lose by a faster resource for savings of as much to count as chance.
/// Simulated times are off by as much.
inline constexpr double kLost = 0.01;
/// Where no resource saves as much alone, nothing alone is in the way, and pairs of rates are
/// tried. One that is all there is saves 0.5: what saves less than a third of that does not say
/// what to build.
inline constexpr double kSavesMuch = 0.15;
/// How much more, and how many times as much, several resources together have to save than one
/// alone for that one not to bound the launch. The first decides where one saves little, of which
/// half as much again is nothing, the second where it saves more.
inline constexpr double kMoreTogether = 0.05;
inline constexpr double kTimesAlone = 1.5;
/// The same number of times for a rate against rates that it is one of: two that are alike save
/// twice as much together.
inline constexpr double kTimesOneRate = 2;
/// What a faster resource has to save more than busy cycles explain for both figures to be given:
/// they are different whole percents then, and further apart than simulated times are off.
inline constexpr double kUnexplained = 0.015;

// What tensor cores wait for.

/// What twice the register banks have to save to be named in place of the tensor cores, and of what
/// those save: twice what simulated times are off by, and most of it.
inline constexpr double kBanksSave = 0.02;
inline constexpr double kBanksShare = 0.5;
/// Of the time in which they multiply, for how long what feeds them has to hold them back to be
/// named in their place: with less, twice as fast a feed saves no more than simulated times are
/// off.
inline constexpr double kFeedShare = 0.02;

// What else is told.

/// Savings up to which nothing alone is said to bound the launch, savings of register banks and
/// calibration up to which they are not told, and what all rates have to save beyond kTimesOneRate:
/// a twentieth is little of a time.
inline constexpr double kLittle = 0.05;
/// What the second resource has to save to be named: half of what the first one saves, and what
/// prints as 1 %.
inline constexpr double kNearly = 0.5;
inline constexpr double kPrints = 0.005;
/// Or, where both are twice as fast, beyond kTimesOneRate of what the first one saves: twice what
/// is little.
inline constexpr double kALot = 0.1;
/// Of the time, what the tensor cores of the fullest SM have more to do than those of the mean one
/// for both to be told: a tenth of what a rate could save is lost to whole CTAs.
inline constexpr double kLongTail = 0.1;
/// A resource that works for longer works most of the time.
inline constexpr double kMostOfTheTime = 0.5;
/// Of the energy of the dense launch, what a level has to save or add to be listed: what is less
/// than the fourth digit of the total explains nothing.
inline constexpr double kListedEnergy = 1e-4;

// What 2x needs.

/// Speed-up of a design that 2x was asked of, from which on it is no less: kernels come in steps.
inline constexpr double kAsGoodAsTwo = 1.95;
/// As a multiple of all rates: next to no time is left at their work. 2x is out of reach of a
/// sparse launch that takes more than half of the dense time even then.
inline constexpr double kBeyondAllRates = 64;
/// How many times as fast a resource has to become to be listed: prints as more than 1.00.
inline constexpr double kFaster = 1.005;
/// [MHz] by which clocks differ that print as different numbers.
inline constexpr double kOtherClockMhz = 0.5;

}  // namespace sptc::sim::threshold
