import Dispatch
import Glibc
import TandemIO
import TandemModel
import TestSupport

/// What all threads of a soak share: whether it ends, what went wrong, and where it takes place.
final class SoakTraffic: Sendable {
    let place: Place
    let graph: SoakGraph
    let seed: UInt64
    /// Milliseconds between two saves of a saver.
    let pace: Int
    /// Set while a client stands still: savers then save more.
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

    /// Notes what broke a law; a few tell as much as thousands.
    func note(_ problem: String) {
        found.withLock { if $0.count < 50 { $0.append(problem) } }
    }

    var hasEnded: Bool { isEnding.withLock { $0 } }

    /// Lets every thread come to its end.
    func end() {
        isEnding.withLock { $0 = true }
        ending.signal()
    }

    /// Waits for the end for as long as the load's pace says; false when the soak goes on.
    func ends(within milliseconds: Int) -> Bool {
        guard ending.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else {
            return hasEnded
        }
        ending.signal()
        return true
    }
}

/// A client's process, for those who stop and kill it.
final class SoakTarget: Sendable {
    // Nil while there is none, so that its number is never another's.
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

/// Errors that say nothing about the request: it may be made again.
func isPassing(_ answer: JSON) -> Bool {
    let code = answer["error"]?["code"]?.string
    return ["disconnected", "timeout", "unknownOutcome"].contains(code)
}
