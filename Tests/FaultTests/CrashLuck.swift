import TandemIO
import TestSupport

/// What a crash keeps of what was not synced: a pure function of its seed.
struct CrashLuck {
    /// The ways to lose power.
    enum Kind: UInt64, CaseIterable {
        /// Nothing that was not synced is there.
        case losesAll
        /// Everything is there, as when only the process died.
        case keepsAll
        /// Everything up to some moment is there.
        case keepsBeginning
        /// Every sector for itself; names of a directory in order.
        case tears
        /// Every sector and every name for itself.
        case tearsNames
    }

    let kind: Kind
    private let seed: UInt64
    private let played: Int
    /// How likely a sector is kept whole, in tenths.
    private let odds: UInt64
    private let moment: Int

    init(seed: UInt64, played: Int) {
        var random = SplitMix64(seed: seed)
        self.seed = random.next()
        self.played = played
        // Tears find the most, so they are made the most.
        let kinds: [Kind] = [
            .losesAll, .keepsAll, .keepsBeginning, .tears, .tears, .tears, .tearsNames, .tearsNames,
        ]
        kind = kinds.randomElement(using: &random) ?? .tears
        odds = UInt64.random(in: 0...10, using: &random)
        moment = Int.random(in: max(0, played - 12)...played, using: &random)
    }

    /// The last record whose write of a sector is kept.
    func writes(file: UInt64, sector: Int) -> Int {
        switch kind {
        case .losesAll: return -1
        case .keepsAll: return .max
        case .keepsBeginning: return moment
        case .tears, .tearsNames:
            let dice = roll(file, UInt64(bitPattern: Int64(sector)))
            guard dice % 10 >= odds else { return .max }
            // Some of the rest is older, most is not there at all.
            return dice >> 8 & 3 == 0 ? played - Int(dice >> 16 & 15) : -1
        }
    }

    /// The last record whose change of a file's size is kept.
    func size(file: UInt64) -> Int { writes(file: file, sector: -1) }

    /// Whether a change of a directory's names is kept.
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
