import Dispatch
import Glibc
import TandemIO
import TandemModel
import TestSupport

/// The state that all threads of a soak share: its end, its problems, and its test folder.
final class SoakTraffic: Sendable {
    let place: Place
    let graph: SoakGraph
    let seed: UInt64
    /// The milliseconds between two saves of a writer.
    let pace: Int
    /// Whether a client is stopped; writers make large saves then.
    let isHeavy = Locked(false)
    private let ending = DispatchSemaphore(value: 0)
    private let isEnding = Locked(false)
    private let found = Locked<[String]>([])

    init(_ place: Place, _ graph: SoakGraph, seed: UInt64, pace: Int) {
        self.pace = pace
        self.place = place
        self.graph = graph
        self.seed = seed
    }

    var problems: [String] { found.withLock { $0 } }

    /// Records the violation of a law; at most 50 are kept, which say as much as thousands.
    func report(_ problem: String) {
        found.withLock { if $0.count < 50 { $0.append(problem) } }
    }

    var hasEnded: Bool { isEnding.withLock { $0 } }

    /// Makes every thread finish.
    func end() {
        isEnding.withLock { $0 = true }
        ending.signal()
    }

    /// Waits for the end of the soak; returns false if that takes too long.
    func ends(within milliseconds: Int) -> Bool {
        guard ending.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else {
            return hasEnded
        }
        ending.signal()
        return true
    }
}

/// A client's process, which other threads stop and kill.
final class SoakTarget: Sendable {
    // Nil while there is no process, so that no other process with this id is signalled.
    private let process = Locked<pid_t?>(nil)

    var processID: pid_t? { process.withLock { $0 } }

    func begin(_ processID: pid_t) { process.withLock { $0 = processID } }

    func signal(_ number: Int32) {
        process.withLock { if let it = $0 { _ = kill(it, number) } }
    }

    /// Ends a bridge that may have been killed already.
    func end(_ bridge: BridgeProcess) {
        process.withLock { $0 = nil }
        bridge.kill()
    }
}

/// Returns whether an answer is a transient error, after which the request may be repeated.
func isTransient(_ answer: JSON) -> Bool {
    let code = answer["error"]?["code"]?.string
    return ["disconnected", "timeout", "unknownOutcome"].contains(code)
}
