import TandemIO
import TestSupport

/// The part of the unsynced data that a crash keeps: a pure function of a seed.
struct CrashOutcome {
    /// A way to lose power.
    enum Kind: UInt64, CaseIterable {
        /// All unsynced data is lost.
        case losesAll
        /// Everything is kept, as if only the process died.
        case keepsAll
        /// Everything up to some point in time is kept.
        case keepsBeginning
        /// Each sector is kept independently; names of a directory are kept in order.
        case tears
        /// Each sector and each name is kept independently.
        case tearsNames
    }

    let kind: Kind
    private let seed: UInt64
    private let played: Int
    /// The probability that all writes of a sector are kept, in tenths.
    private let odds: UInt64
    private let moment: Int

    init(seed: UInt64, played: Int) {
        var random = SplitMix64(seed: seed)
        self.seed = random.next()
        self.played = played
        // Torn images find the most defects, so they are made most often.
        let kinds: [Kind] = [
            .losesAll, .keepsAll, .keepsBeginning, .tears, .tears, .tears, .tearsNames, .tearsNames,
        ]
        kind = kinds.randomElement(using: &random) ?? .tears
        odds = UInt64.random(in: 0...10, using: &random)
        moment = Int.random(in: max(0, played - 12)...played, using: &random)
    }

    /// Returns the number of the last record whose write to a sector is kept.
    func writes(file: UInt64, sector: Int) -> Int {
        switch kind {
        case .losesAll: return -1
        case .keepsAll: return .max
        case .keepsBeginning: return moment
        case .tears, .tearsNames:
            let dice = roll(file, UInt64(bitPattern: Int64(sector)))
            guard dice % 10 >= odds else { return .max }
            // Some of the other sectors keep an older state; most lose all writes.
            return dice >> 8 & 3 == 0 ? played - Int(dice >> 16 & 15) : -1
        }
    }

    /// Returns the number of the last record whose change of a file's size is kept.
    func size(file: UInt64) -> Int { writes(file: file, sector: -1) }

    /// Returns whether a change of a directory's names is kept.
    func keepsName(_ number: Int, of directory: String) -> Bool {
        switch kind {
        case .losesAll: false
        case .keepsAll: true
        case .keepsBeginning: number <= moment
        case .tears:
            number <= played
                - Int(roll(directory.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }, 0) % 12)
        case .tearsNames: roll(UInt64(number), 1) & 1 == 0
        }
    }

    private func roll(_ a: UInt64, _ b: UInt64) -> UInt64 {
        var random = SplitMix64(
            seed: seed ^ a &* 0x9e37_79b9_7f4a_7c15 ^ b &* 0xc2b2_ae3d_27d4_eb4f)
        return random.next()
    }
}
