/// The replaced names that are not gone yet.
extension Glossary {
    /// The declarations that are still to be renamed, each as file and name.
    ///
    /// The list may only get shorter.
    static let remaining: Set<String> = []

    /// The files and folders that are still to be renamed.
    ///
    /// The list may only get shorter.
    static let remainingPaths: Set<String> = []
}
