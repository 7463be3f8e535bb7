import ArgumentParser
import TandemIO

/// A top-level suite, or the tests of a target that belong to no suite.
struct TestSuite: Hashable, Comparable {
    let target: String
    /// The name of the suite's type; nil for the tests of the target without a suite.
    let type: String?

    /// The name in reports and in the table of durations.
    var name: String { "\(target).\(type ?? "*")" }

    static func < (a: TestSuite, b: TestSuite) -> Bool { a.name < b.name }
}

/// The tests of a test bundle, by suite.
struct TestCatalog {
    /// The test ids of each suite.
    private(set) var tests: [TestSuite: [String]] = [:]

    /// Reads the output of `--list-tests`: one test id per line, `Target.Suite/test()`.
    init(listing: String) {
        for line in listing.split(separator: "\n") {
            guard let suite = Self.suite(ofTest: line) else { continue }
            tests[suite, default: []].append(String(line))
        }
    }

    /// Runs a test bundle with `--list-tests` and reads its tests.
    init(bundle: String) throws {
        let child = try ChildProcess.start(
            bundle, ["--testing-library", "swift-testing", "--list-tests"], output: .pipe)
        let listing = String(decoding: try child.readAll(), as: UTF8.self)
        guard child.wait() == .exited(0) else {
            throw ValidationError(
                "`\(bundle) --list-tests` failed; build it with `swift build --build-tests`")
        }
        self.init(listing: listing)
    }

    /// The suites in the order of their names.
    var suites: [TestSuite] { tests.keys.sorted() }

    var count: Int { tests.values.reduce(0) { $0 + $1.count } }

    /// Keeps the tests whose ids match one of the expressions, or all tests if there is no
    /// expression.
    mutating func keep(_ expressions: [Regex<AnyRegexOutput>]) {
        guard !expressions.isEmpty else { return }
        tests = tests.compactMapValues { ids in
            let kept = ids.filter { id in expressions.contains { id.contains($0) } }
            return kept.isEmpty ? nil : kept
        }
    }

    /// Removes the tests of these targets and returns their number.
    mutating func remove(targets: Set<String>) -> Int {
        let before = count
        tests = tests.filter { !targets.contains($0.key.target) }
        return before - count
    }

    /// Returns the suite of a test id, or nil if the text is not an id.
    static func suite(ofTest id: some StringProtocol) -> TestSuite? {
        guard let dot = id.firstIndex(of: ".") else { return nil }
        let rest = id[id.index(after: dot)...]
        // The name of a function may contain a slash, but only after a backtick or a parenthesis.
        let end = rest.firstIndex { $0 == "/" || $0 == "`" || $0 == "(" }
        guard let end else { return nil }
        let type = rest[end] == "/" ? String(rest[..<end]) : nil
        return TestSuite(target: String(id[..<dot]), type: type)
    }
}
