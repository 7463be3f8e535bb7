import TandemIO
import TandemModel
import TestSupport

/// A writer that saves continuously through bridges, which may be killed at any moment.
///
/// Unanswered saves are repeated.
final class SoakSaver: Sendable {
    /// The outcomes of the answered saves.
    struct Record {
        var positions: [(id: String, position: UInt64)] = []
        var refused: [String] = []
        var repeats = 0
    }

    let target = SoakTarget()
    private let name: String
    private let seed: UInt64
    private let traffic: SoakTraffic
    private let state = Locked(Record())

    init(_ number: Int, _ traffic: SoakTraffic) {
        name = "saver\(number)"
        seed = traffic.seed &+ 1_000 &+ UInt64(number)
        self.traffic = traffic
    }

    var record: Record { state.withLock { $0 } }

    /// Saves until the end of the soak; returns after the last save was answered.
    func run() {
        do {
            var bridge = try start()
            defer { target.end(bridge) }
            var script = SaverScript(name, traffic.graph, seed: seed)
            while !traffic.ends(within: traffic.pace) {
                let save = script.next(isLarge: traffic.isHeavy.withLock { $0 })
                let answer = try settle(save, &bridge)
                script.inserted(answer["ok"]?["objects"]?["new"]?.string)
                recordAnswer(answer, of: save)
                if script.chance(10) { try check(save, answer, &bridge) }
            }
        } catch {
            traffic.report("\(name): \(error)")
        }
    }

    private func start() throws -> BridgeProcess {
        // A small cache fills soon, so that any later growth is a leak.
        let bridge = try BridgeProcess(traffic.place.socket, author: name, cachedRows: 1_024)
        target.begin(bridge.processID)
        return bridge
    }

    /// Repeats a save under the same id until an answer has its outcome; replaces a killed bridge.
    private func settle(
        _ save: SaverScript.Save, _ bridge: inout BridgeProcess
    ) throws -> JSON {
        var last: JSON = .null
        for _ in 0..<100 {
            guard let answer = try bridge.answerUnlessEnded(save.request) else {
                target.end(bridge)
                bridge = try start()
                continue
            }
            if !isTransient(answer) { return answer }
            last = answer
            state.withLock { $0.repeats += 1 }
        }
        throw FoldedList.Problem(description: "save \(save.id) gets no answer except \(last)")
    }

    private func recordAnswer(_ answer: JSON, of save: SaverScript.Save) {
        if let position = answer["ok"]?["position"]?.int {
            state.withLock { $0.positions.append((save.id, UInt64(position))) }
        } else {
            state.withLock { $0.refused.append(save.id) }
            traffic.report("save \(save.id) is refused: \(answer)")
        }
    }

    /// Repeats a save, and checks that it has the first answer.
    private func check(
        _ save: SaverScript.Save, _ answer: JSON, _ bridge: inout BridgeProcess
    ) throws {
        let again = try settle(save, &bridge)
        for key in ["position", "objects"] where again["ok"]?[key] != answer["ok"]?[key] {
            traffic.report("save \(save.id) is answered \(answer), and then \(again)")
        }
    }
}
