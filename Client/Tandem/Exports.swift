// Re-exported for apps: models and ids, predicates and requests, and changes to lists.
@_exported public import TandemModel
@_exported public import TandemQuery
@_exported public import TandemResults
