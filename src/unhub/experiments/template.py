"""The experiment file that ``unhub reproduce init`` writes."""

TEMPLATE = """\
# An experiment for unhub reproduce. Paths are relative to this file; file.npz::key names one array of several.
# Check it with: unhub check experiment.toml

[dataset]
name = "MSR-VTT"                 # as the paper calls it, to compare with its values
model = "CLIP4Clip"
directions = ["t2v", "v2t"]      # from queries to targets, and back; leave the second out to run one way
# task = "retrieval"             # or classification (targets are classes), self-retrieval (targets among themselves)
# modality = "video"             # image, video or audio: the authors' scripts differ (--protocol authors)
# metrics = ["R@1", "R@5", "R@10", "MdR", "MnR"]

[test]
queries = "test_text.npy"        # embeddings (query, dim): npy, npz, safetensors, pt, parquet, hdf5, mat, zarr
targets = "test_video.npy"       # embeddings (target, dim)
# scores = "S.npy"               # instead of both: similarities (query, target), for models without embeddings
# relevant = "relevant.npy"      # target of each query, pairs of ids, or qrels; left out: query i belongs to target i
# labels = "labels.npy"          # instead: everything of the same label is right (target_labels for the other side)
# query_ids = "query_ids.txt"
# target_ids = "video_ids.txt"
# captions = "captions.txt"      # one per query, for pictures of results
# target_captions = "titles.txt" # one per target, where targets are texts or have titles
# media = "media"                # a folder with a picture, sound or video per target, named by its id; or frames in id/

# [banks.val]
# queries = "val_text.npy"       # IS, DIS, SN learn from these ...
# targets = "val_video.npy"      # ... and DualIS, DualDIS, DBSN from these too
# scores = "S_bt.npy"            # as matrices: bank queries x test targets,
# cross = "S_bb.npy"             #   bank queries x bank targets,
# target_scores = "S_tt.npy"     #   bank targets x test targets
# captions = "val_captions.txt"  # one per bank query, for unhub serve

# [banks.train]
# queries = "train_text.npy"
# targets = "train_video.npy"

# [settings]
# normalize = true               # scale embeddings to unit length
# tau = 0.01                     # for every method that has one, instead of the protocol's; "auto" follows the scores
# iterations = 10                # rounds of SN and DBSN, instead of the protocol's
# ties = "optimistic"            # equal scores count for the query; or average, pessimistic, index
# allow_overlap = true           # test queries may be in a bank (the same caption twice, say)
"""
