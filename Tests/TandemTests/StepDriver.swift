import TandemWire
import Testing

@testable import Tandem

extension Step {
    /// Runs the operation to its end; calls `body` before the first matching answer is used.
    @discardableResult
    func run(
        on connection: Connection, beforeUsing isWanted: (ClientMessage) -> Bool,
        _ body: () throws -> Void
    ) throws -> Output {
        var step = self
        var isDone = false
        while true {
            switch step {
            case .done(let output):
                #expect(isDone)
                return output
            case .connect(let more, _): step = try more(connection.session())
            case .ask(let message, _, let more):
                let answer = connection.answer(message)
                if !isDone, isWanted(message) {
                    isDone = true
                    try body()
                }
                step = try more(answer)
            case .send(let message, let more): step = try more(connection.send(message))
            case .await(let reply, let more): step = try more(connection.answer(of: reply))
            }
        }
    }
}
