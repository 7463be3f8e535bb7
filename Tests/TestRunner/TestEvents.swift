import FoundationEssentials

/// One line of Swift Testing's event stream, version 0.
///
/// The format is `ABI/JSON.md` of the swift-testing package.
struct TestRecord: Decodable {
    struct Message: Decodable {
        let symbol: String
        let text: String
    }

    struct Location: Decodable {
        let fileID: String
        let line: Int
    }

    struct Issue: Decodable {
        let isKnown: Bool
        let sourceLocation: Location?
    }

    struct Payload: Decodable {
        let kind: String
        /// The id of a declared test.
        let id: String?
        /// The id of the test that an event is about.
        let testID: String?
        let messages: [Message]?
        let issue: Issue?
        let instant: Instant?
    }

    struct Instant: Decodable {
        let absolute: Double
    }

    let kind: String
    let payload: Payload
}

/// A failure of a test.
struct TestFailure: Equatable {
    let test: String
    let location: String
    let message: String
    /// The value of `TANDEM_SEED` in the message, or the last one that the process printed.
    var seed: String?
}

/// The state of the tests of one process, computed from its events.
struct TestProgress {
    private(set) var passed = 0
    private(set) var failures: [TestFailure] = []
    /// The tests that failed or did not end.
    private(set) var failedTests: Set<String> = []
    /// The skipped tests with the reasons.
    private(set) var skipped: [String: String] = [:]
    /// The total duration of each suite's tests, in seconds.
    private(set) var seconds: [TestSuite: Double] = [:]
    /// The number of events so far.
    private(set) var eventCount = 0
    /// The tests that were selected and have not ended.
    private var pending: Set<String> = []
    private var started: [String: Double] = [:]
    /// The incomplete last line of the events read so far.
    private var rest: [UInt8] = []

    /// The number of tests that failed.
    var failed: Int { failedTests.count }

    /// Reads the next bytes of the event stream.
    mutating func read(_ bytes: [UInt8]) throws {
        var lines = (rest + bytes).split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        rest = Array(lines.popLast() ?? [])
        for line in lines where !line.isEmpty {
            apply(try JSONDecoder().decode(TestRecord.self, from: Data(line)))
        }
    }

    /// Counts every test that has not ended as failed.
    mutating func end(_ reason: String) {
        for test in pending.sorted() {
            let isRunning = started[test] != nil
            failedTests.insert(test)
            failures.append(
                TestFailure(
                    test: test, location: Self.location(test),
                    message: isRunning ? reason : "did not run: \(reason)", seed: nil))
        }
        pending = []
        started = [:]
    }

    /// Adds a failure that belongs to no test.
    mutating func fail(_ group: String, _ message: String) {
        failedTests.insert(group)
        failures.append(TestFailure(test: group, location: group, message: message, seed: nil))
    }

    /// Sets the seed of failures whose messages name none to the last seed that the process
    /// printed.
    mutating func addSeed(printedIn output: String) {
        guard !failures.isEmpty, let seed = Self.seeds(in: output).last else { return }
        for index in failures.indices where failures[index].seed == nil {
            failures[index].seed = seed
        }
    }

    private mutating func apply(_ record: TestRecord) {
        let payload = record.payload
        eventCount += 1
        switch (record.kind, payload.kind) {
        case ("test", "function"): if let id = payload.id { pending.insert(id) }
        case ("event", "testStarted"):
            if let id = payload.testID, pending.contains(id) {
                started[id] = payload.instant?.absolute ?? 0
            }
        case ("event", "issueRecorded"): fail(payload)
        case ("event", "testSkipped"):
            if let id = payload.testID { skip(id, payload.messages ?? []) }
        case ("event", "testEnded"):
            if let id = payload.testID { end(id, payload.instant?.absolute ?? 0) }
        default: break
        }
    }

    private mutating func fail(_ payload: TestRecord.Payload) {
        guard let issue = payload.issue, !issue.isKnown else { return }
        let test = payload.testID ?? "(no test)"
        failedTests.insert(test)
        let text = (payload.messages ?? []).map(\.text).joined(separator: "\n")
        let place = issue.sourceLocation.map { "\($0.fileID):\($0.line)" }
        failures.append(
            TestFailure(
                test: test, location: place ?? Self.location(test), message: text,
                seed: Self.seeds(in: text).first))
    }

    private mutating func skip(_ id: String, _ messages: [TestRecord.Message]) {
        let reason = messages.map(\.text).joined(separator: " ")
        // A skipped suite skips its tests too.
        for test in pending where test == id || test.hasPrefix(id + "/") {
            pending.remove(test)
            skipped[test] = reason
        }
    }

    private mutating func end(_ id: String, _ now: Double) {
        guard pending.remove(id) != nil else { return }
        if !failedTests.contains(id) { passed += 1 }
        guard let start = started.removeValue(forKey: id), let suite = TestCatalog.suite(ofTest: id)
        else { return }
        seconds[suite, default: 0] += now - start
    }

    /// Returns the values of all `TANDEM_SEED=…` in a text.
    static func seeds(in text: String) -> [String] {
        text.split(separator: "TANDEM_SEED=", omittingEmptySubsequences: false).dropFirst()
            .map { String($0.prefix { $0.isASCII && $0.isNumber }) }.filter { !$0.isEmpty }
    }

    /// Returns the file and line at the end of a test's id.
    private static func location(_ id: String) -> String {
        String(id.split(separator: "/").last ?? "")
    }
}
