import Tandem
import TandemModel

/// For tests of answers in parts.
extension FakeDaemon {
    /// One with contents of the names, which sends one a part.
    @MainActor static func sendingParts(of names: [String]) throws -> FakeDaemon {
        let fake = try FakeDaemon(
            Model {
                Bucket.entity; Content.entity
            })
        let writer = fake.container(author: "writer").makeContext(name: "writer")
        for name in names { try writer.insert(Content.self).name = name }
        try writer.save()
        fake.state.withLock { $0.partBytes = 1 }
        return fake
    }

    /// How many fetches it was asked for, of those requests that are remembered.
    var fetchCount: Int {
        state.withLock { state in
            state.requests.count { if case .fetch = $0 { true } else { false } }
        }
    }
}
