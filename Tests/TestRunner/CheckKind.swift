/// A kind of deep test of `make check`: its tests, their variables and their build.
struct CheckKind: Sendable {
    /// The ways to build the tests.
    enum Build: Sendable {
        /// The build of `make test`.
        case debug
        /// With the thread sanitizer.
        case sanitizer
        /// Optimized, and without checks of exclusive access, as `make install` builds.
        ///
        /// Unlike the installed programs it uses the shared Swift runtime: the toolchain has no
        /// `Testing` module for `--static-swift-stdlib`.
        case release
        /// `Tests/Macros`, a package of its own that enables the trait `Macros`.
        case macros

        /// The arguments of `swift build`.
        var arguments: [String] {
            switch self {
            case .debug: []
            case .sanitizer: ["--sanitize=thread", "--scratch-path", ".build-tsan"]
            case .release:
                [
                    "-c", "release", "-Xswiftc", "-enable-testing", "-Xswiftc",
                    "-enforce-exclusivity=unchecked", "--scratch-path", ".build-release",
                ]
            case .macros: ["--package-path", "Tests/Macros"]
            }
        }

        /// The name of the bundle with the tests.
        var bundle: String {
            self == .macros ? "macrosPackageTests.xctest" : "tandemPackageTests.xctest"
        }
    }

    let name: String
    let build: Build
    /// Regular expressions over test ids.
    let tests: [String]
    /// The number of units in one round and their name; nil if the figure is the number of tests.
    let figure: (count: Int, unit: String)?
    /// The seconds of one round on two cores, including a build from scratch if the kind needs a
    /// build of its own.
    let leastSeconds: Double
    /// Whether further rounds, with other seeds, can find more.
    let isRepeatable: Bool
    /// Returns the variables of a round with this seed, which may take this many seconds.
    let variables: @Sendable (_ seed: UInt64, _ seconds: Double) -> [String: String]

    /// All kinds, in the order in which they run.
    static let all: [CheckKind] = [
        CheckKind(
            name: "worlds", build: .debug, tests: ["^SimulationTests\\.WorldTests/"],
            figure: (60, "worlds"), leastSeconds: 40, isRepeatable: true
        ) { seed, _ in ["TANDEM_WORLDS": "40", "TANDEM_FIRST_WORLD": "\(seed)"] },
        CheckKind(
            name: "images", build: .debug,
            tests: ["^FaultTests\\.", "^TandemJournalTests\\.CrashImageTests/"],
            figure: (1_000, "crash images of each kind"), leastSeconds: 100, isRepeatable: true
        ) { seed, _ in
            ["TANDEM_IMAGES": "1000", "TANDEM_DEEP": "1", "TANDEM_SEED": "\(seed)"]
        },
        CheckKind(
            name: "races", build: .debug, tests: ["^ProcessTests\\.RaceTests/"],
            figure: (1_000, "saves of each racer"), leastSeconds: 40, isRepeatable: true
        ) { seed, _ in ["TANDEM_RACES": "1000", "TANDEM_SEED": "\(seed)"] },
        CheckKind(
            name: "exhaustive", build: .debug,
            tests: ["^TandemResultsTests\\.(Exhaustive|SmallList)Tests/", "BridgeSmallListTests/"],
            figure: nil, leastSeconds: 240, isRepeatable: false
        ) { seed, _ in
            ["TANDEM_EXHAUSTIVE": "1", "TANDEM_DEEP": "1", "TANDEM_SEED": "\(seed)"]
        },
        CheckKind(
            name: "soak", build: .debug, tests: ["^ProcessTests\\.SoakTests/"],
            figure: nil, leastSeconds: 120, isRepeatable: true
        ) { seed, seconds in
            ["TANDEM_SOAK": "\(Int(max(100, seconds - 20)))", "TANDEM_SEED": "\(seed)"]
        },
        CheckKind(
            name: "fuzz", build: .debug, tests: ["^FuzzTests\\."],
            figure: nil, leastSeconds: 300, isRepeatable: false
        ) { seed, _ in ["TANDEM_FUZZ": "10", "TANDEM_SEED": "\(seed)"] },
        CheckKind(
            name: "sanitizer", build: .sanitizer,
            tests: ["^Tandem(IO|Daemon|Results)?Tests\\."],
            figure: nil, leastSeconds: 840, isRepeatable: false
        ) { _, _ in ["TSAN_OPTIONS": "halt_on_error=1"] },
        CheckKind(
            name: "macros", build: .macros, tests: [],
            figure: nil, leastSeconds: 900, isRepeatable: false
        ) { _, _ in [:] },
        CheckKind(
            name: "release", build: .release, tests: [],
            figure: nil, leastSeconds: 840, isRepeatable: false
        ) { _, _ in [:] },
        CheckKind(
            name: "deep", build: .debug, tests: [],
            figure: nil, leastSeconds: 600, isRepeatable: false
        ) { _, _ in ["TANDEM_DEEP": "1"] },
    ]

    /// Returns the kinds with these names, or nil if one is unknown.
    static func named(_ names: [String]) -> [CheckKind]? {
        let found = names.compactMap { name in all.first { $0.name == name } }
        return found.count == names.count ? found : nil
    }
}

/// The kinds that fit into a budget of time, with the seconds of each.
struct CheckPlan {
    struct Entry {
        let kind: CheckKind
        let seconds: Double
    }

    let entries: [Entry]

    /// Chooses kinds, beginning with a different one each day, so that every kind runs regularly.
    ///
    /// A kind that does not fit is left out; the remaining time is used for the repeatable kinds.
    /// The first kind is always chosen.
    init(_ kinds: [CheckKind], seconds: Double, day: Int) {
        let first = kinds.isEmpty ? 0 : day % kinds.count
        var chosen: [CheckKind] = []
        var left = seconds
        for kind in kinds[first...] + kinds[..<first]
        where chosen.isEmpty || kind.leastSeconds <= left {
            chosen.append(kind)
            left -= kind.leastSeconds
        }
        let repeatable = chosen.count(where: \.isRepeatable)
        let share = max(0, left) / Double(max(1, repeatable))
        entries = chosen.map {
            Entry(kind: $0, seconds: $0.leastSeconds + ($0.isRepeatable ? share : 0))
        }
    }

    /// Returns the seconds after which the entry at `index` is ended if it begins with this much
    /// time left: its own seconds, and those that earlier entries left over.
    func limit(ofEntryAt index: Int, secondsLeft: Double) -> Double {
        let later = entries[(index + 1)...].reduce(0) { $0 + $1.seconds }
        return max(entries[index].seconds, secondsLeft - later)
    }
}
