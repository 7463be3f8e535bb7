import Tandem
import TandemModel

/// Helpers for tests of chunked answers.
extension FakeDaemon {
    /// Returns a daemon with contents of these names, which sends one object per chunk.
    @MainActor static func sendingParts(of names: [String]) throws -> FakeDaemon {
        let fake = try FakeDaemon(
            ManagedObjectModel {
                Bucket.entity; Content.entity
            })
        let writer = fake.container(author: "writer").makeContext(name: "writer")
        for name in names { try writer.insert(Content.self).name = name }
        try writer.save()
        fake.state.withLock { $0.chunkBytes = 1 }
        return fake
    }

    /// The number of fetches among the recorded requests.
    var fetchCount: Int {
        state.withLock { state in
            state.requests.count { if case .fetch = $0 { true } else { false } }
        }
    }
}
